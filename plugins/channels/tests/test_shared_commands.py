"""Chat commands that every channel has, without a terminal."""

import asyncio

import pytest
from oneclaw_channels import Conversation, SlashCommands

from oneclaw_core import UsageError, hookimpl


async def lend(context, rest):
    return f"{context.channel}: {await context.confirm('Lend it?')}"


class Plugin:
    @hookimpl
    def register_chat_commands(self, register):
        register("lend", lend, help="Lend a book.")


@pytest.fixture
def type_line(oneclaw_factory):
    def type_line(line, **about):
        async def scene():
            async with oneclaw_factory([Plugin()]).opened() as claw:
                conversation = Conversation(claw, None, print, channel="web", **about)
                return await SlashCommands(claw).run(conversation, line)

        return asyncio.run(scene())

    return type_line


def test_help_lists_what_the_channel_has_and_plugins_register(type_line):
    names = [line.split()[0] for line in type_line("/help").text.splitlines()]
    assert {"/usage", "/copy", "/steer", "/lend"} <= set(names)
    assert not {"/attach", "/verbose"} & set(names)


def test_a_command_of_a_plugin_asks_where_a_person_can_be_asked(type_line):
    async def agree(question):
        return question == "Lend it?"

    assert type_line("/lend").text == "web: False"
    assert type_line("/lend", confirm=agree).text == "web: True"


def test_leaving_and_steering_are_left_to_the_channel(type_line):
    assert type_line("/exit").leave
    assert type_line("/steer Go on").send == "Go on"
    assert type_line("/queue", waiting=["one", "two"]).text == "1. one\n2. two"
    with pytest.raises(UsageError, match="no message waits"):
        type_line("/steer")
    with pytest.raises(UsageError, match="did you mean /usage"):
        type_line("/usag")
