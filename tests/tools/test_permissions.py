"""FEAT-004 "Permission Rules": who is asked, what is remembered, what a denial says."""

import asyncio

import pytest

from oneclaw_core import PermissionAnswer, PermissionDeniedError, PermissionRequest, UsageError
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


# --- patterns ---


def command(text, session="s1"):
    return PermissionRequest("shell.execute", "exec", {"command": text}, session_id=session, subject=text)


def test_shell_commands_are_asked_for():
    household = Household(PermissionAnswer.ONCE)
    assert is_granted(household.policy(), command("git status")) == [True]
    assert household.questions[0].subject == "git status"


def test_a_grant_for_a_pattern_holds_for_what_fits_and_the_user_is_asked_about_the_rest():
    household = Household(PermissionAnswer.NO, PermissionAnswer.NO)
    policy = household.policy({"shell.execute:git *": Decision.GRANT})
    requests = (command("git log -p"), command("git log; rm -rf /"), command("ls"))
    assert is_granted(policy, *requests) == [True, False, False]
    assert [question.subject for question in household.questions] == ["git log; rm -rf /", "ls"]


def test_a_pattern_can_be_allowed_for_this_run():
    policy = Household().policy(
        {"shell.execute": Decision.DENY}, allowed=["shell.execute:git status", " shell.execute"], with_ask=False
    )
    assert is_granted(policy, command("git status"), command("git log")) == [True, False]


@pytest.mark.parametrize("rule", ["shell.execute:", "shell.execute:*", "shell.execute:a; b"])
def test_a_pattern_that_is_none_cannot_be_allowed(rule):
    with pytest.raises(UsageError):
        Household().policy(allowed=[rule])


def test_what_is_denied_goes_before_what_is_granted():
    granted = {"shell.execute": Decision.GRANT, "shell.execute:git *": Decision.GRANT}
    policy = Household().policy({**granted, "shell.execute:git push *": Decision.DENY})
    assert is_granted(policy, command("git log"), command("cd x && git push -f")) == [True, False]
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset 'shell.execute:git push \*'"):
        asyncio.run(policy.require(command("git push")))
    policy = Household().policy({**granted, "shell.execute": Decision.DENY})
    assert is_granted(policy, command("git log")) == [False]


def test_a_denied_pattern_counts_also_in_a_session_that_was_granted_before():
    household = Household(PermissionAnswer.SESSION)
    policy = household.policy({"shell.execute:rm *": Decision.DENY})
    assert is_granted(policy, command("ls"), command("rm x"), command("cat x")) == [True, False, True]


def test_exactly_this_is_remembered_and_is_nothing_else():
    household = Household(PermissionAnswer.EXACTLY, PermissionAnswer.NO)
    policy = household.policy()
    assert is_granted(policy, command("git log"), command(" git log "), command("git log -p")) == [True, True, False]
    assert household.remembered == {"shell.execute:git log": Decision.GRANT}


@pytest.mark.parametrize("asked", [command("git log | cat"), request()])
def test_exactly_this_means_once_where_there_is_no_such_rule(asked):
    household = Household(PermissionAnswer.EXACTLY, PermissionAnswer.NO)
    assert asked.exact_rule is None
    assert is_granted(household.policy(), asked, asked) == [True, False]
    assert household.remembered == {}


def test_without_a_subject_no_pattern_holds():
    policy = Household().policy({"shell.execute:git *": Decision.GRANT}, with_ask=False)
    assert is_granted(policy, PermissionRequest("shell.execute", "other", {"command": "git log"})) == [False]


def test_the_denial_names_the_rule_for_this_alone():
    policy = Household().policy(with_ask=False)
    with pytest.raises(PermissionDeniedError) as caught:
        asyncio.run(policy.require(command("git commit -m 'a b'")))
    assert str(caught.value) == (
        "Permission 'shell.execute' is not granted, and nobody can be asked here. The user can grant it with: "
        "oneclaw permissions grant shell.execute; for this alone with: "
        "oneclaw permissions grant 'shell.execute:git commit -m '\"'\"'a b'\"'\"''"
    )
    for other in ("a; b", "x" * 1000):
        with pytest.raises(PermissionDeniedError, match=r"grant shell\.execute$"):
            asyncio.run(policy.require(command(other)))


def test_a_colon_in_the_name_of_another_permission_means_nothing():
    policy = Household().policy({"camera:use": Decision.GRANT}, with_ask=False)
    assert is_granted(policy, request("camera:use"), request("camera")) == [True, False]


def test_a_session_can_have_somebody_else_asked_who_keeps_no_other_waiting():
    household = Household(PermissionAnswer.ONCE)
    policy = household.policy()

    async def check():
        asked, answered = asyncio.Event(), asyncio.Event()

        async def slowly(question):
            asked.set()
            await answered.wait()
            return PermissionAnswer.NO

        with policy.answered_by("chat", slowly):
            waiting = asyncio.create_task(policy.require(request(session="chat")))
            await asked.wait()
            await policy.require(request(session="other"))
            can_ask = policy.can_ask_in("chat"), Household().policy(with_ask=False).can_ask_in("chat")
            answered.set()
            with pytest.raises(PermissionDeniedError):
                await waiting
        household.answers.append(PermissionAnswer.ONCE)
        await policy.require(request(session="chat"))
        return can_ask

    assert asyncio.run(check()) == (True, False)
    assert [each.session_id for each in household.questions] == ["other", "chat"]
