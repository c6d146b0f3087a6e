"""FEAT-004 "Permission Rules": who is asked, what is remembered, what a denial says."""

import asyncio

import pytest

from oneclaw_core import PermissionAnswer, PermissionDeniedError, PermissionRequest
from oneclaw_core.tools.permissions import Decision, PermissionPolicy


class Household:
    """A user who gives prepared answers, and a memory."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.questions = []
        self.remembered = {}

    async def ask(self, request):
        self.questions.append(request)
        await asyncio.sleep(0)
        return self.answers.pop(0)

    async def remember(self, permission, decision):
        self.remembered[permission] = decision

    def policy(self, decisions=None, *, allowed=(), with_ask=True):
        return PermissionPolicy(decisions or {}, self.remember, self.ask if with_ask else None, allowed)


def request(permission="network.private", session="s1"):
    return PermissionRequest(permission, "http_request", {"url": "http://localhost"}, "detail", session)


def is_granted(policy, *requests):
    async def check():
        outcomes = []
        for each in requests or (request(),):
            try:
                await policy.require(each)
                outcomes.append(True)
            except PermissionDeniedError:
                outcomes.append(False)
        return outcomes

    return asyncio.run(check())


@pytest.mark.parametrize("permission", ["files.read", "files.write", "network.public"])
def test_the_workspace_and_the_public_network_are_granted_by_default(permission):
    household = Household()
    assert is_granted(household.policy(), request(permission)) == [True]
    assert household.questions == []


def test_without_a_terminal_nothing_is_asked_and_the_denial_names_the_command():
    policy = Household().policy(with_ask=False)
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions grant network\.private") as caught:
        asyncio.run(policy.require(request()))
    assert caught.value.permission == "network.private"


def test_once_is_asked_again_the_next_time():
    household = Household(PermissionAnswer.ONCE, PermissionAnswer.NO)
    assert is_granted(household.policy(), request(), request()) == [True, False]
    assert [question.arguments for question in household.questions] == [{"url": "http://localhost"}] * 2
    assert household.remembered == {}


def test_this_session_holds_for_this_session_only():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    assert is_granted(household.policy(), request(), request(), request(session="s2")) == [True, True, False]


def test_always_is_remembered():
    household = Household(PermissionAnswer.ALWAYS)
    assert is_granted(household.policy(), request(), request(session="s2")) == [True, True]
    assert household.remembered == {"network.private": Decision.GRANT}


def test_never_is_remembered_and_answers_with_how_to_change_it():
    household = Household(PermissionAnswer.NEVER)
    policy = household.policy()
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset network\.private"):
        asyncio.run(policy.require(request()))
    assert household.remembered == {"network.private": Decision.DENY}
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset network\.private"):
        asyncio.run(policy.require(request()))
    assert len(household.questions) == 1


def test_a_default_can_be_taken_away():
    policy = Household().policy({"files.write": Decision.DENY})
    assert is_granted(policy, request("files.write"), request("files.read")) == [False, True]


def test_what_is_allowed_for_this_run_counts_whatever_is_remembered():
    policy = Household().policy({"network.private": Decision.DENY}, allowed=["network.private"])
    assert is_granted(policy) == [True]


def test_it_is_checked_before_every_run():
    policy = Household().policy({"network.private": Decision.GRANT}, with_ask=False)
    assert is_granted(policy) == [True]
    policy.replace_decisions({})
    assert is_granted(policy) == [False]


def test_parallel_calls_ask_one_at_a_time_and_one_answer_settles_the_next():
    household = Household(PermissionAnswer.ALWAYS)
    policy = household.policy()

    async def both():
        await asyncio.gather(policy.require(request()), policy.require(request()))

    asyncio.run(both())
    assert len(household.questions) == 1


def test_a_denial_counts_also_in_a_session_that_was_granted_before():
    household = Household(PermissionAnswer.SESSION)
    policy = household.policy()
    assert is_granted(policy, request()) == [True]
    policy.replace_decisions({"network.private": Decision.DENY})
    assert is_granted(policy, request()) == [False]
