from __future__ import annotations

import pytest


@pytest.fixture
def oneclaw_plugins():
    return ["pdf"]


@pytest.fixture
def context(tool_context):
    """For calling the tools' functions directly: in a separate process, nothing of a test would reach them."""
    return tool_context


@pytest.fixture
def project(oneclaw_project):
    return oneclaw_project


@pytest.fixture
def workspace(oneclaw_home):
    return oneclaw_home.workspace
