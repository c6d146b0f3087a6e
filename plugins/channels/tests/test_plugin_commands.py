"""Chat commands of plugins, in whatever channel they are typed."""

import asyncio

import pytest
from oneclaw_channels import ChatCommands

from oneclaw_core import PluginError, SessionInfo, UsageError, hookimpl


async def where(context, rest):
    return f"{context.name} in {context.channel}, {context.session and context.session.name}: {rest}"


def plain(context, rest):
    return rest.upper()


async def nothing(context, rest):
    return None


async def number(context, rest):
    return 7


async def wrong(context, rest):
    raise UsageError("say which")


async def broken(context, rest):
    raise ValueError("no such thing")


async def exits(context, rest):
    raise SystemExit(3)


class Plugin:
    @hookimpl
    def register_chat_commands(self, register):
        register("where", where, help="Tell where this is.")
        for function in (plain, nothing, number, wrong, broken, exits):
            register(function.__name__, function)
        register("help", where)


@pytest.fixture
def run(oneclaw_factory):
    def run(name, rest="", session=None):
        async def scene():
            async with oneclaw_factory([Plugin()]).opened() as claw:
                commands = ChatCommands(claw.plugins, claw.catalog.plugins, ["help"])
                problems = [each.cause for record in claw.catalog.plugins for each in record.problems]
                answer = await commands.run(name, rest, channel="telegram", session=session)
                return answer.text, problems, commands

        return asyncio.run(scene())

    return run


def test_a_command_knows_where_it_was_typed(run):
    session = SessionInfo(id="1", name="inbox", agent="General Assistant")

    assert run("where", "please", session)[0] == "Plugin in telegram, inbox: please"
    assert run("where")[0] == "Plugin in telegram, None: "


@pytest.mark.parametrize(("name", "shown"), [("plain", "TEXT"), ("nothing", "")])
def test_it_may_be_sync_and_say_nothing(run, name, shown):
    assert run(name, "text")[0] == shown


def test_a_name_that_is_taken_stays_what_it_was_and_is_reported(run):
    _, problems, commands = run("nothing")

    assert problems == ["the chat command /help is taken"]
    assert "help" not in commands.summaries()
    assert commands.summaries()["where"] == "Tell where this is."


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("number", "plugin Plugin: /number returned an object of type int, neither a text nor a ChatAnswer"),
        ("broken", "plugin Plugin: /broken raised ValueError: no such thing"),
        ("exits", "plugin Plugin: /exits raised SystemExit: 3"),
    ],
)
def test_one_that_fails_names_its_plugin(run, name, message):
    with pytest.raises(PluginError) as caught:
        run(name)

    assert message in str(caught.value)
    assert "oneclaw plugins disable Plugin" in str(caught.value)


def test_what_it_says_to_the_user_is_told_as_it_is(run):
    with pytest.raises(UsageError, match=r"^say which$"):
        run("wrong")
