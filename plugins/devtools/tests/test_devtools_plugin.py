"""The plugin devtools in the program."""

import pytest

COMMANDS = ("box", "check", "install", "new", "search", "sync", "unbox", "uninstall", "upgrade")


def test_its_commands_are_those_of_oneclaw_plugins(ok):
    listing = ok("plugins", "--help").partition("Commands of plugins:")[2]
    listed = [line.split()[0] for line in listing.strip().splitlines()]
    assert tuple(each for each in listed if each in COMMANDS) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_each_command(ok, command):
    assert ok("plugins", command, "--help").startswith(f"Usage: oneclaw plugins {command} ")


def test_a_disabled_plugin_is_named(oneclaw, monkeypatch):
    monkeypatch.setenv("ONECLAW_DISABLED_PLUGINS", "devtools")
    outcome = oneclaw("plugins", "check")
    assert outcome.status == 2
    assert "oneclaw plugins enable devtools" in outcome.stderr
