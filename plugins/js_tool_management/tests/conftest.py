"""A home of the test's own, in which the user agrees unless a test says otherwise."""

import pytest


@pytest.fixture
def oneclaw_plugins():
    return ["js_tool_management"]


@pytest.fixture(autouse=True)
def agreeing_user(oneclaw):
    oneclaw.user.says("once")


@pytest.fixture
def folder(oneclaw_home):
    """The user's folder for tools."""
    oneclaw_home.tools.mkdir()
    return oneclaw_home.tools
