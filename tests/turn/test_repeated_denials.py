"""A call that the user denied is not asked about again in the turn, and does not end the turn."""

import pytest

from oneclaw_core import ToolContext, hookimpl, tool


@tool
async def pay(recipient: str, context: ToolContext) -> str:
    """Pay somebody."""
    await context.ask_permission("bank.spend", f"pay {recipient}", recipient)
    return f"paid {recipient}"


class Bank:
    @hookimpl
    def register_tools(self, register):
        register(pay)


@pytest.fixture
def claw(oneclaw_factory):
    return oneclaw_factory([Bank()])


def calls(claw, *recipients, text="Pay.", **options):
    for each in recipients:
        claw.model.calls("pay", recipient=each)
    claw.model.says("Done.")
    return claw.send(text, **options)


def outcomes(record):
    return [call.result.error_type or call.result.result for call in record.tool_calls]


def asked(claw):
    return [each.subject for each in claw.user.asked]


def test_the_users_own_task_goes_on_after_a_repeated_denied_call(claw):
    claw.user.says("no", "once")

    record = calls(claw, "Eve", "Eve", "Eve", "Eve", "Ann")

    assert asked(claw) == ["Eve", "Ann"]
    assert outcomes(record) == [*["permission_denied"] * 4, "paid Ann"]
    assert "not asked again" in record.tool_calls[1].result.error_message
    assert record.text == "Done."


def test_equal_calls_at_once_are_one_question_if_the_user_denies_it(claw):
    claw.user.says("no")
    claw.model.calls("pay", recipient="Eve").also_calls("pay", recipient="Eve")
    claw.model.says("Done.")

    record = claw.send("Pay.")

    assert asked(claw) == ["Eve"]
    assert outcomes(record) == ["permission_denied"] * 2


def test_a_yes_once_is_for_one_call_and_not_for_an_equal_one(claw):
    claw.user.says("once", "no")

    record = calls(claw, "Ann", "Ann")

    assert asked(claw) == ["Ann", "Ann"]
    assert outcomes(record) == ["paid Ann", "permission_denied"]


def test_a_new_message_asks_again(claw):
    claw.user.says("no", "once")

    calls(claw, "Ann")
    record = calls(claw, "Ann", text="I was wrong, pay her.")

    assert asked(claw) == ["Ann", "Ann"]
    assert outcomes(record) == ["paid Ann"]


def test_a_message_during_the_turn_asks_again(claw):
    claw.user.says("no", "once")
    steering = ["I was wrong, pay her."]

    record = calls(claw, "Ann", "Ann", steering=steering)

    assert outcomes(record) == ["permission_denied", "paid Ann"]
