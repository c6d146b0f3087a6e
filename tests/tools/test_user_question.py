"""Questions of tools: their limits, and what counts as an answer."""

import pytest

from oneclaw_core import UsageError
from oneclaw_core.types.user_question import UserQuestion


def test_a_question_and_its_choices_have_limits():
    assert UserQuestion("x" * 2000, ("y" * 200,) * 10).choices[9] == "y" * 200
    for question, choices, message in (
        ("", (), "a question has 1 to 2,000 characters, not 0"),
        (" \n ", (), "a question has 1 to 2,000 characters, not 3"),
        ("x" * 2001, (), "a question has 1 to 2,000 characters, not 2,001"),
        ("x", ("y",) * 11, "a question has at most 10 choices, not 11"),
        ("x", ("y", " "), "a choice has 1 to 200 characters, not 1"),
        ("x", ("y", "z" * 1201), "a choice has 1 to 200 characters, not 1,201"),
        ("x", ("z" * 201,), "a choice has 1 to 200 characters, not 201"),
    ):
        with pytest.raises(UsageError) as error:
            UserQuestion(question, choices)
        assert str(error.value) == message


def test_an_answer_is_a_number_a_choice_or_other_words():
    choices = ("Red", " green ", "7", "12")
    free, strict = UserQuestion("Which?", choices), UserQuestion("Which?", choices, allows_text=False)
    for typed, answer in (("1", "Red"), (" 4 ", "12"), ("red", "Red"), ("GREEN ", " green ")):
        assert free.answer_to(typed) == strict.answer_to(typed) == answer
    for typed in ("0", "5", "7", "12", "99999", "", "  "):
        assert free.answer_to(typed) is strict.answer_to(typed) is None, typed
    # More digits than any number has are cut.
    assert free.answer_to("0001" + "0" * 5000) == "Red"
    for typed in ("blue", " blue ", "\u0661", "1.5", "-1"):
        assert (free.answer_to(typed), strict.answer_to(typed)) == (typed.strip(), None)
    for question in (UserQuestion("How many?"), UserQuestion("How many?", allows_text=False)):
        assert [question.answer_to(each) for each in ("7", " x ", "", " ")] == ["7", "x", None, None]


def test_a_question_is_data():
    plain, full = UserQuestion("Which?"), UserQuestion("Which?", ("a",), False, "ask", "Poet", "Critic", "s1")
    assert plain.to_dict() == {
        **{"question": "Which?", "choices": [], "allows_text": True, "tool": "", "agent": None, "sub_agent": None},
    }
    assert full.to_dict() == {
        "question": "Which?",
        "choices": ["a"],
        "allows_text": False,
        "tool": "ask",
        "agent": "Poet",
        "sub_agent": "Critic",
    }
    assert UserQuestion("Which?", allows_text=False).to_dict()["allows_text"] is True
    assert (plain.form, plain.form_name, plain.session_id) == (None, "answer", None)
