"""Lines of a chat through a pipe, with a scripted model."""

import sys

import pytest
from oneclaw_channels import Conversation
from oneclaw_channels.commands import SHARED
from oneclaw_terminal.slash_commands import TERMINAL
from oneclaw_terminal.talk import Talk

from oneclaw_core.channels.commands import OWN_COMMANDS
from oneclaw_core.cli import TurnView

pytestmark = pytest.mark.every_python


class Lines:
    def __init__(self, *lines):
        self._lines = list(lines)

    async def read(self):
        return self._lines.pop(0) if self._lines else None


@pytest.fixture
def talk(oneclaw_factory, capsys):
    """Say lines to a model; return whether all went well, and what was shown."""
    home = oneclaw_factory(["terminal"])

    def go_through(*lines):
        home.model.says("Hello.")
        conversation = Conversation(home.app, TurnView(sys.stdout), notify=print, model="scripted/model")
        is_all_well = home.run(Talk(conversation).go_through(Lines(*lines)))
        return is_all_well, capsys.readouterr()

    return go_through


def test_listings_know_the_names_of_all_commands():
    assert [f"/{name}" for name in OWN_COMMANDS] == [*SHARED, *TERMINAL]


def test_messages_are_answered_and_commands_run(talk):
    is_all_well, shown = talk("hello", "/groups", "/nonsense", "/exit", "never sent")

    assert not is_all_well
    assert shown.out.startswith("Hello.\n")
    assert "/nonsense" in shown.err


def test_text_for_the_clipboard_needs_a_terminal(talk):
    is_all_well, shown = talk("hello", "/copy")

    assert is_all_well
    assert "There is no terminal to copy to" in shown.out
