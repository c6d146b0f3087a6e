"""The program in the test's own process, on a machine without model servers and other assistants."""

import oneclaw_setup.local_servers
import pytest
from model_server import ModelServer, text
from program import home, install_plugin, ok, oneclaw

__all__ = ["install_plugin", "ok", "oneclaw"]


@pytest.fixture
def users_folder(tmp_path, monkeypatch):
    """The user's home directory, empty."""
    folder = tmp_path / "user"
    folder.mkdir()
    for name in ("HERMES_HOME", "LLM_USER_PATH", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "ZDOTDIR", "NANOBOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(folder))
    return folder


_home = home


@pytest.fixture
def home(_home, users_folder, monkeypatch):
    monkeypatch.setattr(oneclaw_setup.local_servers, "KNOWN_PORTS", {})
    return _home


@pytest.fixture
def server():
    """A model server with the model ``test`` that says hello."""
    with ModelServer(lambda _: text("Hello.")) as running:
        yield running
