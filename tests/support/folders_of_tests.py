"""The fixture ``tmp_path``, made at once.

pytest's own looks through the folders of all tests before it makes the next, and renews a link to it. After thousands
of tests that takes two milliseconds each time.
"""

import re
from itertools import count

import pytest

_numbers = count()


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    """An empty folder of the test's own, among those that pytest keeps."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    path.mkdir(mode=0o700)
    return path
