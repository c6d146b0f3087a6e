"""Homes of the tests: with the user's own tools, or with the tools that change them."""

import pytest
from own_tools import OwnTools


@pytest.fixture
def own(tmp_path):
    return OwnTools(tmp_path / "home")


@pytest.fixture
def oneclaw_plugins():
    return ["javascript", "js_tool_management"]


@pytest.fixture
def agreeing_user(oneclaw):
    """A user who agrees unless a test says otherwise."""
    oneclaw.user.says("once")


@pytest.fixture
def folder(oneclaw_home):
    """The user's folder for tools."""
    oneclaw_home.tools.mkdir()
    return oneclaw_home.tools
