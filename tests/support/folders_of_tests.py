"""The folders of a test: ``tmp_path``, made at once, and ``own_cache``.

pytest's own ``tmp_path`` looks through the folders of all tests before it makes the next, and renews a link to it.
After thousands of tests that takes two milliseconds each time.
"""

import os
import re
import shutil
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


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A copy of the cache, for programs that are killed: a plugin that one is importing then is left alone later."""
    shutil.copytree(os.environ["XDG_CACHE_HOME"], tmp_path / "cache of the test")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache of the test"))
