import pytest

from oneclaw_core.types.messages import StopReason
from oneclaw_core.types.model_requests import ToolLoading

NATIVE, INLINE, APPEND, DISPATCH = (ToolLoading(way) for way in ("native", "inline", "append", "dispatch"))


@pytest.mark.parametrize(
    ("wanted", "learned", "used"),
    [
        (INLINE, INLINE, INLINE),
        (NATIVE, APPEND, APPEND),
        (INLINE, APPEND, APPEND),
        (INLINE, NATIVE, NATIVE),
        (NATIVE, NATIVE, NATIVE),
        (APPEND, NATIVE, APPEND),
        (DISPATCH, APPEND, DISPATCH),
        (INLINE, DISPATCH, INLINE),
    ],
)
def test_what_was_refused_is_not_asked_for_again_and_nothing_else_changes(wanted, learned, used):
    assert wanted.at_most(learned) is used


def test_two_ways_are_the_wire_formats_own():
    assert [way for way in ToolLoading if way.is_native] == [NATIVE, INLINE]


def test_every_reason_can_be_put_into_words():
    assert all(reason.ended_by for reason in StopReason)
