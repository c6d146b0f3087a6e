from __future__ import annotations

import pytest

from oneclaw_core import PathGuard, ToolContext


@pytest.fixture
def context(tmp_path):
    """Of a call in a home of its own, started in the directory ``project``."""
    for name in ("home/workspace", "project"):
        (tmp_path / name).mkdir(parents=True)
    guard = PathGuard(tmp_path / "home" / "workspace", tmp_path / "project")
    return ToolContext(tmp_path / "home", None, "test", "pdf_info", "call_1", guard)


@pytest.fixture
def project(context):
    return context.paths.start_directory


@pytest.fixture
def workspace(context):
    return context.paths.workspace
