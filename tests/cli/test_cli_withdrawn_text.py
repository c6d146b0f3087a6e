"""Text that turns out to be the model's thoughts is not what a script reads; a person at a terminal is told."""

import io

from oneclaw_core.cli.rendering import TurnView
from oneclaw_core.types.events import NoticeEvent, TextEvent, TextWithdrawnEvent, TurnFinishedEvent

THOUGHTS = [TextEvent("I look first.", may_be_withdrawn=True), TextWithdrawnEvent("I look first.")]
ANSWER = [TextEvent("Blue."), TurnFinishedEvent("s", "Blue.")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(stdout, *events):
    view = TurnView(stdout)
    for event in events:
        view.show(event)
    view.finish()
    return stdout.getvalue()


def test_a_script_reads_the_answer_alone(capsys):
    assert shown(io.StringIO(), *THOUGHTS, *ANSWER) == "Blue.\n"
    assert capsys.readouterr().err == ""


def test_a_person_is_told_what_the_text_was(capsys):
    assert shown(Terminal(), *THOUGHTS, *ANSWER) == "I look first.\nBlue.\n"
    assert "the thoughts of the model" in capsys.readouterr().err


def test_text_that_was_not_withdrawn_is_read_in_the_end():
    assert shown(io.StringIO(), THOUGHTS[0], TurnFinishedEvent("s", "I look first.")) == "I look first.\n"
    assert shown(io.StringIO(), THOUGHTS[0]) == "I look first.\n"


def test_a_notice_is_a_line_beside_the_answer(capsys):
    assert shown(io.StringIO(), NoticeEvent("lab sends calls as text"), *ANSWER) == "Blue.\n"
    assert capsys.readouterr().err == "lab sends calls as text\n"
