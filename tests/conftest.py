"""What holds for all tests."""

import os

from hypothesis import settings

# A busy machine is slow now and then; that is no fault of what is tested. CI tries the same examples each time.
settings.register_profile("oneclaw", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("oneclaw")
