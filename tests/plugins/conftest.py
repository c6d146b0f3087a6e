"""Fixtures for plugins that tests install."""

import sys

import pytest

from oneclaw_core.plugins import isolation
from oneclaw_core.plugins.look_here import LOOKS_HERE


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A place to install plugins, with a separate cache, and a separate record of names."""
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(isolation, "LOAD_SECONDS", 5.0)
    token = LOOKS_HERE.set(True)
    yield site
    LOOKS_HERE.reset(token)
    for module in ("good_plugin", "hostile_plugin"):
        sys.modules.pop(module, None)
