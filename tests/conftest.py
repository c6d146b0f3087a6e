"""What holds for all tests."""

import os

# No test, and no program that one starts, touches the keyring of whoever runs it; set before keyring is imported.
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.fail.Keyring"

from hypothesis import settings

# A busy machine is slow now and then; that is no fault of what is tested. CI tries the same examples each time.
settings.register_profile("oneclaw", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("oneclaw")
