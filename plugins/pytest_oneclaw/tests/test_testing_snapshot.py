"""The snapshot of what a plugin registers, compared and written."""

import json

import greeting_plugin
import pytest
from pytest_oneclaw import DefinitionsSnapshot


@pytest.fixture
def oneclaw_plugins():
    return [greeting_plugin]


@pytest.fixture
def written():
    return []


@pytest.fixture
def snapshot(oneclaw, tmp_path, written):
    """Makes a snapshot in a separate folder."""

    def make(*, is_updating=False, ci=""):
        return DefinitionsSnapshot(oneclaw, tmp_path, is_updating=is_updating, note=written.append, environ={"CI": ci})

    return make


@pytest.fixture
def path(tmp_path):
    return tmp_path / "greeting_plugin.definitions.json"


def test_what_a_plugin_registers_is_written(snapshot, path, written):
    snapshot()()

    document = json.loads(path.read_text())
    assert written == [path]
    assert document["plugin"] == "greeting_plugin"
    assert document["groups"][0]["display_name"] == "Greetings"
    assert [(each["name"], each["group"], each["timeout_seconds"]) for each in document["tools"]] == [
        ("greet", "greetings", 30),
        ("fetch_greeting", "greetings", 1.5),
    ]
    assert document["tools"][0]["parameters"]["required"] == ["who"]


def test_the_same_is_not_written_again(snapshot, path, written):
    snapshot()()
    snapshot(ci="true")("greeting_plugin")
    snapshot(is_updating=True)()

    assert written == [path]


def test_a_change_is_shown(snapshot, path):
    snapshot()()
    changed = path.read_text().replace("Greet somebody.", "Greet a person.")
    path.write_text(changed)

    with pytest.raises(AssertionError) as caught:
        snapshot()()

    lines = str(caught.value).splitlines()
    assert lines[0].endswith("If that is meant: pytest --oneclaw-update-snapshots")
    assert '-      "description": "Greet a person.",' in lines
    assert '+      "description": "Greet somebody.",' in lines
    assert path.read_text() == changed


def test_a_change_is_written_when_that_is_asked_for(snapshot, path, written):
    snapshot()()
    path.write_text("no JSON")

    snapshot(is_updating=True, ci="true")()

    assert json.loads(path.read_text())["plugin"] == "greeting_plugin"
    assert written == [path, path]


@pytest.mark.parametrize("ci", ["true", "1", "yes"])
def test_a_missing_file_fails_on_ci(snapshot, path, ci):
    with pytest.raises(AssertionError, match="write it with pytest --oneclaw-update-snapshots, look at it"):
        snapshot(ci=ci)()
    assert not path.exists()


@pytest.mark.parametrize("ci", ["", "0", "false", "False"])
def test_a_missing_file_is_written_elsewhere(snapshot, path, ci):
    snapshot(ci=ci)()

    assert path.exists()


def test_of_several_plugins_one_is_named(oneclaw_factory, tmp_path):
    class One:
        """Has no hooks."""

    class Two(One):
        """Neither."""

    snapshot = DefinitionsSnapshot(oneclaw_factory([One(), Two()]), tmp_path, is_updating=False, note=print, environ={})

    with pytest.raises(AssertionError, match=r"say of which plugin.*loaded are: One, Two"):
        snapshot()
    with pytest.raises(AssertionError, match="no plugin 'Three' is loaded"):
        snapshot("Three")
    snapshot("Two")
    assert (tmp_path / "Two.definitions.json").is_file()
