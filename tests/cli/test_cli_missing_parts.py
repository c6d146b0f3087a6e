"""What of a home is not used because its plugin is not installed, and which distribution brings it."""

import pytest

from oneclaw_core.distributions import COMMANDS, how_to_install
from oneclaw_core.plugins.loading import load_plugins as loading

MEMORY = "MEMORY.md is not used, because the plugin memory is not installed"


@pytest.fixture
def bare(home, monkeypatch):
    """A home of version 0.1 that a program without the plugins opens."""
    (home / "skills" / "report").mkdir(parents=True)
    (home / "MEMORY.md").write_text("- Likes tea\n")
    found = [point for point in loading.discover() if point.name not in ("memory", "skills")]
    monkeypatch.setattr(loading.InstalledCatalogue, "plugins", lambda self: found)
    return home


def test_the_first_run_names_the_distributions(bare, oneclaw):
    first = oneclaw("run", "hello").stderr
    assert f"{MEMORY}: install it with: oneclaw plugins install oneclaw-memory\n" in first
    assert "oneclaw plugins install oneclaw-skills\n" in first
    assert first.count("is not used") == 2
    assert "is not used" not in oneclaw("run", "hello").stderr


def test_doctor_names_the_distributions(bare, oneclaw):
    checks = oneclaw("doctor", "--json").json["checks"]
    found = {each["remedy"]: each["message"] for each in checks if "is not used" in each["message"]}
    assert found["install it with: oneclaw plugins install oneclaw-memory"].endswith(MEMORY)
    assert "install it with: oneclaw plugins install oneclaw-skills" in found


def test_a_new_home_lacks_nothing(home, oneclaw):
    assert "is not used" not in oneclaw("run", "hello").stderr


@pytest.mark.parametrize(("command", "plugin"), sorted(COMMANDS.items()))
def test_a_command_of_a_missing_plugin_says_what_to_install(home, oneclaw, monkeypatch, command, plugin):
    monkeypatch.setattr(loading.InstalledCatalogue, "plugins", lambda self: [])
    outcome = oneclaw(*command.split(), "list")
    assert outcome.status == 2
    assert f"the command {command} needs the plugin {plugin}: {how_to_install(plugin)}" in outcome.stderr


def test_the_command_that_installs_plugins_is_installed_with_pip():
    assert how_to_install("devtools") == "install it with: pip install oneclaw-devtools"
