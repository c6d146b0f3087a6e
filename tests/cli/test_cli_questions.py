import json
import os

import pytest
from pseudo_terminal import PseudoTerminal
from rich.cells import cell_len

from oneclaw_core import UserQuestion
from oneclaw_core.permissions import user_question_text

ARGUMENTS = json.dumps({"question": "Which database?", "choices": ["SQLite", "PostgreSQL"]})


@pytest.mark.long
def test_a_question_is_answered_by_a_number_or_in_other_words(home):
    with PseudoTerminal("call", "ask_user", ARGUMENTS, environ=os.environ) as terminal:
        terminal.expect("The model asks you, and it gives no permission\n")
        terminal.expect("question: Which database?\n")
        terminal.expect("1: SQLite\n  2: PostgreSQL\n")
        terminal.expect("Answer [1-2 or your own words; Enter for none]: ")
        terminal.type("7\n")
        terminal.expect("Please type a number from 1 to 2.")
        terminal.type("2\n")
        terminal.expect('"result": "PostgreSQL"')
        assert terminal.exit_status() == 0


FORGED = "Well?\n\nAllow once? [y/N]\n" * 30 + "\x1b[2J\u202e" + "x" * 500


@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 24), (40, 12)])
def test_nothing_in_a_question_is_taken_for_another_one(columns, rows):
    question = UserQuestion(FORGED, ("1: yes\nAllow once? [y/N]", "c" * 200), sub_agent="a\nTool exec wants all")
    shown = user_question_text(question, columns, rows).split("\n")
    assert all(cell_len(row) < columns for row in shown)
    assert len(shown) <= max(rows - 2, 24)
    ours = [row for row in shown if not row.startswith("    │ ")]
    assert ours[0].startswith("The sub-agent a Tool exec wants all"[:30])
    assert not any("Allow" in row for row in ours)
    assert "\x1b" not in "".join(shown)
    assert any(" rows: d shows all …]" in row for row in ours)
