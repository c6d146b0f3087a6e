"""Errors as one line."""

from oneclaw_core.errors import describe_error


class MuteError(Exception):
    def __str__(self):
        raise ValueError("no words")


def test_an_error_is_described_on_one_line():
    assert describe_error(ValueError("two\nlines")) == "ValueError: two lines"
    assert describe_error(ValueError()) == "ValueError"
    assert describe_error(MuteError()) == "MuteError: (its message cannot be shown)"


def test_the_errors_inside_a_group_are_named():
    inner = BaseExceptionGroup("inner", [ConnectionError("billing.example is down"), KeyboardInterrupt()])

    assert describe_error(ExceptionGroup("x", [ValueError("a")])) == "ValueError: a"
    assert describe_error(BaseExceptionGroup("x", [ValueError("a"), inner, ValueError("a")])) == (
        "ValueError: a; ConnectionError: billing.example is down; KeyboardInterrupt"
    )
