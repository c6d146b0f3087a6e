"""Values that begin with a minus."""

import json

import click
import pytest
from how_long import some

from oneclaw_core.cli.minus_values import arguments_with_values


@pytest.mark.parametrize("value", some(["-5", "-0.5", "-1001234567890", "-1001,-4001", "- be short", "-- be short"], 3))
def test_a_number_or_text_with_a_minus_is_a_value(all_plugins, ok, value):
    # syncthing/syncthing issue 8059; cbrgm/telegram-github-action issue 32: ids of groups are negative.
    ok("config", "set", "telegram.groups", value)

    assert ok("config", "get", "telegram.groups").strip() == value


def test_values_and_options_stand_in_any_order(oneclaw):
    called = oneclaw("call", "no_such_tool", "-5", "--allow", "files.read")

    assert json.loads(called.stdout)["error_type"] == "not_found"


@pytest.mark.parametrize(
    ("arguments", "has_hint"),
    [
        (["config", "set", "telegram.groups", "-x"], True),
        (["call", "forecast", "--no-such"], True),
        (["sessions", "list", "--no-such"], False),
        (["--no-such"], False),
    ],
)
def test_an_unknown_option_says_how_a_value_is_written(oneclaw, arguments, has_hint):
    result = oneclaw(*arguments)

    assert result.status == 2
    assert "No such option" in result.stderr
    assert ("if it is a value, write -- before it" in result.stderr) is has_hint


def test_values_keep_their_order_and_options_their_values():
    @click.command()
    @click.argument("first")
    @click.argument("second")
    @click.option("--limit", type=int)
    @click.option("--quiet", is_flag=True)
    def command(first, second, limit, quiet):
        pass

    def moved(*arguments):
        context = click.Context(command, info_name="oneclaw move")
        return arguments_with_values(click.NoSuchOption("-1", ctx=context), ["move", *arguments])

    assert moved("-1", "--limit", "-2", "b", "--quiet") == ["move", "--limit", "-2", "--quiet", "--", "-1", "b"]
    assert moved("a", "--limit=-2", "-1") == ["move", "--limit=-2", "--", "a", "-1"]
    assert moved("-1", "--", "--quiet") == ["move", "--", "-1", "--quiet"]
    assert moved("a", "b") is None
    assert moved("--", "-1", "b") is None
