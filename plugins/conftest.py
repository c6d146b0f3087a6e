"""Fixtures for the tests of plugins."""

import os
from pathlib import Path

import pytest
from all_tests import forgotten_secrets, own_cache, pytest_configure, tmp_path

from oneclaw_core.plugins.look_here import LOOKS_HERE

# A test imports its plugin anyway; another process that looks at it first takes as long as ten tests.
LOOKS_HERE.set(True)

__all__ = ["forgotten_secrets", "own_cache", "pytest_configure", "tmp_path"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of plugins, so that those of the core can be chosen without them."""
    folder = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(folder):
            item.add_marker(pytest.mark.of_plugin)
