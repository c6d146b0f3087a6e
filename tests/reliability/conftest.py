"""What the tests of reliability share: how long they take, and a separate home."""

import os

import pytest

LONG_VARIABLE = "ONECLAW_TESTS_LONG"


@pytest.fixture(scope="session")
def is_long():
    """Whether everything is to be tried, which takes half an hour, and not a part of it."""
    return os.environ.get(LONG_VARIABLE, "") not in ("", "0")


@pytest.fixture(autouse=True)
def _own_home(monkeypatch, tmp_path):
    """Nothing of whoever runs the tests is seen or touched, by processes that they start either."""
    for name in list(os.environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or (name.startswith("ONECLAW_") and "TEST" not in name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "config,google_workspace,js_tool_management,pdf,scheduled_tasks")
