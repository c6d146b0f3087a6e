"""FEAT-004 "Permission Rules": who is asked, what is remembered, what a denial says."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from policies import policy_of

from oneclaw_core import PermissionAnswer, PermissionDeniedError, PermissionRequest, UsageError
from oneclaw_core.errors import denied_for_good
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.permissions.decisions import TaskPermissions
from oneclaw_core.permissions.requests import grant_in_words
from oneclaw_core.permissions.rules import PermissionRule
from oneclaw_core.types.permissions import PermissionUse

GRANT, DENY = Decision.GRANT, Decision.DENY


class Household:
    """A user who gives prepared answers, and a memory."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.questions = []
        self.remembered = []
        self.uses = []

    async def ask(self, request):
        self.questions.append(request)
        await asyncio.sleep(0)
        return self.answers.pop(0)

    async def remember(self, grant):
        self.remembered.append((grant.name, grant.decision))

    async def record(self, use):
        self.uses.append(use)

    def policy(self, decided=None, *, allowed=(), with_ask=True):
        ask = self.ask if with_ask else None
        return policy_of(decisions(decided or {}), self.remember, ask, allowed, self.record)


def decisions(decided):
    rules = ((PermissionRule.read(name), decision) for name, decision in decided.items())
    return [Grant(rule.permission, rule.pattern, decision) for rule, decision in rules]


def request(permission="network.private", session="s1", **others):
    return PermissionRequest(permission, "http_request", {"url": "http://localhost"}, "detail", session, **others)


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
    assert household.remembered == []


def test_what_was_denied_in_a_turn_is_not_asked_again_but_a_grant_made_since_counts():
    household, refused = Household(PermissionAnswer.NO), set()
    policy = household.policy()

    async def is_granted_again():
        try:
            return await policy.require(request(), refused=refused)
        except PermissionDeniedError as error:
            return error.decided_by

    assert [asyncio.run(is_granted_again()) for _ in range(2)] == ["user", "user"]
    assert len(household.questions) == 1
    policy.decisions.replace([Grant("network.private")])
    assert asyncio.run(is_granted_again()) == "grant"


def test_this_session_holds_for_this_session_only():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    assert is_granted(household.policy(), request(), request(), request(session="s2")) == [True, True, False]


def test_always_is_remembered():
    household = Household(PermissionAnswer.ALWAYS)
    assert is_granted(household.policy(), request(), request(session="s2")) == [True, True]
    assert household.remembered == [("network.private", GRANT)]


def test_never_is_remembered_and_answers_with_how_to_change_it():
    household = Household(PermissionAnswer.NEVER)
    policy = household.policy()
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset network\.private"):
        asyncio.run(policy.require(request()))
    assert household.remembered == [("network.private", DENY)]
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset network\.private"):
        asyncio.run(policy.require(request()))
    assert len(household.questions) == 1


def test_a_default_can_be_taken_away():
    policy = Household().policy({"files.write": DENY})
    assert is_granted(policy, request("files.write"), request("files.read")) == [False, True]


def test_what_is_allowed_for_this_run_counts_whatever_is_remembered():
    policy = Household().policy({"network.private": DENY}, allowed=["network.private"])
    assert is_granted(policy) == [True]


def test_it_is_checked_before_every_run():
    policy = Household().policy({"network.private": GRANT}, with_ask=False)
    assert is_granted(policy) == [True]
    policy.decisions.replace([])
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
    policy.decisions.replace([Grant("network.private", decision=DENY)])
    assert is_granted(policy, request()) == [False]


# --- patterns ---


def command(text, session="s1"):
    return PermissionRequest(
        "shell.execute", "exec", {"command": text}, session_id=session, subject=text, directory="/srv"
    )


def test_shell_commands_are_asked_for():
    household = Household(PermissionAnswer.ONCE)
    assert is_granted(household.policy(), command("git status")) == [True]
    assert household.questions[0].subject == "git status"


def test_a_grant_for_a_pattern_holds_for_what_fits_and_the_user_is_asked_about_the_rest():
    household = Household(PermissionAnswer.NO, PermissionAnswer.NO)
    policy = household.policy({"shell.execute:git *": GRANT})
    requests = (command("git log -p"), command("git log; rm -rf /"), command("ls"))
    assert is_granted(policy, *requests) == [True, False, False]
    assert [question.subject for question in household.questions] == ["git log; rm -rf /", "ls"]


def test_where_all_subjects_must_be_granted_a_pattern_is_not_enough():
    household = Household(PermissionAnswer.NO, PermissionAnswer.NO, PermissionAnswer.SESSION)
    all_commands = replace(command("git log"), as_a_whole=True)
    policy = household.policy({"shell.execute:git *": GRANT}, allowed=["shell.execute:git log"])
    assert is_granted(policy, command("git log"), all_commands) == [True, False]
    assert is_granted(household.policy({"shell.execute": GRANT}), all_commands) == [True]
    # An answer for a session is for all commands of the directory.
    assert is_granted(household.policy(), all_commands, command("ls"), all_commands) == [False, True, True]


def test_a_pattern_can_be_allowed_for_this_run():
    policy = Household().policy(
        {"shell.execute": DENY}, allowed=["shell.execute:git status", " shell.execute"], with_ask=False
    )
    assert is_granted(policy, command("git status"), command("git log")) == [True, False]


@pytest.mark.parametrize("rule", ["shell.execute:", "shell.execute:*", "shell.execute:a; b"])
def test_a_pattern_that_is_none_cannot_be_allowed(rule):
    with pytest.raises(UsageError):
        Household().policy(allowed=[rule])


def test_what_is_denied_goes_before_what_is_granted():
    granted = {"shell.execute": GRANT, "shell.execute:git *": GRANT}
    policy = Household().policy({**granted, "shell.execute:git push *": DENY})
    assert is_granted(policy, command("git log"), command("cd x && git push -f")) == [True, False]
    with pytest.raises(PermissionDeniedError, match=r"oneclaw permissions reset 'shell.execute:git push \*'"):
        asyncio.run(policy.require(command("git push")))
    policy = Household().policy({**granted, "shell.execute": DENY})
    assert is_granted(policy, command("git log")) == [False]


def test_a_denied_pattern_counts_also_in_a_session_that_was_granted_before():
    household = Household(PermissionAnswer.SESSION)
    policy = household.policy({"shell.execute:rm *": DENY})
    assert is_granted(policy, command("ls"), command("rm x"), command("cat x")) == [True, False, True]


def test_always_is_for_what_was_shown_and_for_nothing_else():
    household = Household(PermissionAnswer.ALWAYS, PermissionAnswer.NO)
    policy = household.policy()
    assert is_granted(policy, command("git log"), command(" git log "), command("git log -p")) == [True, True, False]
    assert household.remembered == [("shell.execute:git log", GRANT)]


def test_always_means_once_where_no_grant_can_say_what_it_is_for():
    asked = command("git log | cat")
    household = Household(PermissionAnswer.ALWAYS, PermissionAnswer.NO)
    assert asked.grant_for_good is None
    assert is_granted(household.policy(), asked, asked) == [True, False]
    assert household.remembered == []


def test_without_a_subject_no_pattern_holds():
    policy = Household().policy({"shell.execute:git *": GRANT}, with_ask=False)
    assert is_granted(policy, PermissionRequest("shell.execute", "other", {"command": "git log"})) == [False]


def test_the_denial_names_the_rule_for_this_alone():
    policy = Household().policy(with_ask=False)
    with pytest.raises(PermissionDeniedError) as caught:
        asyncio.run(policy.require(command("git commit -m 'a b'")))
    assert str(caught.value) == (
        "Permission 'shell.execute' is not granted, and no one can be asked here. The user can grant it with: "
        "oneclaw permissions grant shell.execute; for this alone with: "
        "oneclaw permissions grant 'shell.execute:git commit -m '\"'\"'a b'\"'\"'' --in /srv"
    )
    for other in ("a; b", "x" * 1000):
        with pytest.raises(PermissionDeniedError, match=r"grant shell\.execute$"):
            asyncio.run(policy.require(command(other)))


def test_a_session_can_have_somebody_else_asked_who_keeps_no_other_waiting():
    household = Household(PermissionAnswer.ONCE)
    policy = household.policy()

    async def check():
        asked, answered = asyncio.Event(), asyncio.Event()

        async def slowly(question):
            asked.set()
            await answered.wait()
            return PermissionAnswer.NO

        with policy.people.answered_by("chat", slowly):
            waiting = asyncio.create_task(policy.require(request(session="chat")))
            await asked.wait()
            await policy.require(request(session="other"))
            can_ask = policy.people.can_ask_in("chat"), Household().policy(with_ask=False).people.can_ask_in("chat")
            answered.set()
            with pytest.raises(PermissionDeniedError):
                await waiting
        household.answers.append(PermissionAnswer.ONCE)
        await policy.require(request(session="chat"))
        return can_ask

    assert asyncio.run(check()) == (True, False)
    assert [each.session_id for each in household.questions] == ["other", "chat"]


# --- what a grant holds for ---


@pytest.mark.parametrize(
    ("rule", "subject", "is_covered"),
    [
        ("network.private:router.lan", "Router.lan.", True),
        ("network.private:router.lan", "evilrouter.lan", False),
        ("network.private:*.lan", "router.lan", True),
        ("network.private:*.lan", "lan", False),
        ("network.private:*.example.com", "evilexample.com", False),
        ("files.write:/srv/project", "/srv/project/a/b.txt", True),
        ("files.write:/srv/project", "/srv/project2/a", False),
        ("google.gmail.send:*@example.com", "ada@example.com", True),
        ("google.gmail.send:*@example.com", "ada@example.com, eve@evil.net", False),
        ("google.gmail.send:*@example.com", "eve@evil.net, ada@example.com", False),
        ("google.gmail.send:*@example.com", "bob@example.com, ada@example.com", True),
        ("google.gmail.send:a@b.c, d@e.f", "a@b.c, d@e.f", True),
        ("config.write:default model", "provider evil at https://evil.net", False),
    ],
)
def test_a_grant_with_a_pattern_holds_for_subjects_that_fit(rule, subject, is_covered):
    checked = PermissionRule.check(rule)
    assert str(checked) == rule
    asked = request(checked.permission, subject=subject)
    policy = Household(PermissionAnswer.NO).policy({rule: GRANT})
    assert is_granted(policy, asked) == [is_covered]


@pytest.mark.parametrize(
    "rule", ["network.private:a b", "files.write:relative", "google.gmail.send:*", "config.write:"]
)
def test_a_pattern_that_no_subject_can_fit_or_all_do_is_refused(rule):
    with pytest.raises(UsageError):
        PermissionRule.check(rule)


def test_an_answer_for_a_session_holds_for_the_subject_that_was_shown():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    policy = household.policy()
    assert is_granted(
        policy,
        request("config.write", subject="default model"),
        request("config.write", subject="default model"),
        request("config.write", subject="provider evil at https://evil.net"),
    ) == [True, True, False]


def test_an_answer_for_a_session_without_a_subject_is_for_one_tool():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    policy = household.policy()
    other = PermissionRequest("network.private", "browser", {}, "", "s1")
    assert is_granted(policy, request(), request(), other) == [True, True, False]


def test_a_sub_agent_does_not_inherit_the_answer_for_a_session():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    policy = household.policy()
    first = request(subject="router.lan", agent="General Assistant")
    assert is_granted(policy, first, first, request(subject="router.lan", agent="Helper")) == [True, True, False]


def test_a_yes_for_a_command_holds_in_its_directory():
    def in_directory(directory):
        return PermissionRequest("shell.execute", "exec", {}, subject="make test", directory=directory)

    for answer in (PermissionAnswer.SESSION, PermissionAnswer.ALWAYS):
        household = Household(answer, PermissionAnswer.NO)
        policy = household.policy()
        requests = [in_directory(each) for each in ("/srv/one", "/srv/one", "/srv/two")]
        assert is_granted(policy, *requests) == [True, True, False]


def test_a_grant_can_be_for_one_agent_or_task_and_can_end():
    now = datetime.now(UTC)
    asked = request(agent="Ada", task="report")
    for grant, holds in (
        (Grant("network.private", agent="Ada"), True),
        (Grant("network.private", agent="Eve"), False),
        (Grant("network.private", task="report"), True),
        (Grant("network.private", task="other"), False),
        (Grant("network.private", until=now + timedelta(hours=1)), True),
        (Grant("network.private", until=now - timedelta(seconds=1)), False),
    ):
        policy = Household().policy(with_ask=False)
        policy.decisions.replace([grant])
        assert is_granted(policy, asked) == [holds], grant_in_words(grant)


def test_a_denial_of_a_part_of_a_name_holds_for_all_its_permissions():
    policy = Household().policy({"google.gmail": DENY, "google.gmail.read": GRANT}, with_ask=False)
    assert is_granted(policy, request("google.gmail.read"), request("google.gmail.send")) == [False, False]
    assert policy.decisions.denied("google.gmail.send", "google.drive.read", behalf=request()) == {"google.gmail.send"}


def test_denials_of_a_part_are_returned_on_request():
    decided = [
        Grant("files.read", "/notes", DENY),
        Grant("files.read", "/old", DENY, until=datetime.now(UTC) - timedelta(1)),
        Grant("files.read", "/ada", DENY, agent="Ada"),
        Grant("files.read", "/public"),
    ]
    policy = policy_of(decided, Household().remember)

    assert policy.decisions.denied("files.read", "files.write", behalf=request()) == frozenset()
    assert policy.decisions.denied("files.read", "files.write", behalf=request(), with_patterns=True) == {
        "files.read:/notes"
    }
    with_ada = policy.decisions.denied("files.read", behalf=request(agent="Ada"), with_patterns=True)
    assert with_ada == {"files.read:/notes", "files.read:/ada"}
    for allowed in ("files.read", "files.read:/notes"):
        allowing = policy_of(decided, Household().remember, allowed=[allowed])
        assert allowing.decisions.denied("files.read", behalf=request(), with_patterns=True) == frozenset()


def test_what_a_person_decided_is_recorded_and_defaults_are_not():
    household = Household(PermissionAnswer.ONCE, PermissionAnswer.NO)
    policy = household.policy({"network.private:router.lan": GRANT})
    is_granted(policy, request("files.read"), request(subject="router.lan"), request(subject="a"), request(subject="b"))
    found = [(each.subject, each.is_granted, each.decided_by, each.grant) for each in household.uses]
    granted_by = ("network.private", "router.lan", None, None, None)
    assert found == [("router.lan", True, "grant", granted_by), ("a", True, "user", None), ("b", False, "user", None)]


def test_always_is_not_offered_for_a_command_in_a_directory_that_is_not_known():
    assert PermissionRequest("shell.execute", "exec", {}, subject="make").grant_for_good is None
    known = PermissionRequest("shell.execute", "exec", {}, subject="make", directory="/srv").grant_for_good
    assert (known.name, known.directory) == ("shell.execute:make", "/srv")


def test_an_answer_outside_a_session_is_for_whom_it_was_asked():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    policy = household.policy()
    one, other = (PermissionRequest("network.private", f"plugin {name}", {}, subject="nas") for name in ("a", "b"))
    assert is_granted(policy, one, one, other) == [True, True, False]


def test_the_log_holds_no_known_secret(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    household = Household(PermissionAnswer.ONCE)
    is_granted(household.policy(), command("curl -H sk-0123456789abcdef"))
    assert [each.subject for each in household.uses] == ["curl -H [redacted]"]


def test_a_denial_made_elsewhere_counts_for_the_next_call_and_while_the_user_is_asked():
    stored = [Grant("network.private")]

    async def read():
        return tuple(stored)

    async def ask(_):
        stored[:] = [Grant("network.private", decision=DENY)]
        return PermissionAnswer.ALWAYS

    household = Household()
    policy = policy_of(stored, household.remember, ask, read=read)
    assert is_granted(policy) == [True]
    stored.clear()
    assert is_granted(policy) == [False]
    assert household.remembered == []


def test_a_denial_that_is_found_while_a_use_is_recorded_counts():
    stored, recorded = [Grant("network.private")], []

    async def read():
        return tuple(stored)

    async def record_known(use, known):
        if known != tuple(stored):
            return False
        recorded.append(use)
        return True

    household = Household()
    policy = policy_of(stored, household.remember, record=household.record, read=read, record_known=record_known)
    assert is_granted(policy) == [True]
    stored[:] = [Grant("network.private", decision=DENY)]
    assert is_granted(policy, request(), request()) == [False, False]
    assert [each.is_granted for each in recorded] == [True]
    assert [each.is_granted for each in household.uses] == [False, False]
    stored[:] = [Grant("network.private", source="question")]
    assert is_granted(policy, request(), request()) == [True, True]
    assert len(recorded) == 2


def test_what_is_denied_to_an_agent_is_denied_to_those_that_work_for_it():
    decided = [Grant("network.private"), Grant("network.private", decision=DENY, agent="Ada")]
    policy = policy_of(decided, Household().remember)
    assert is_granted(policy, request(agent="Bo"), request(agent="Bo", on_behalf_of=("Cy", "Ada"))) == [True, False]
    assert policy.decisions.denied("network.private", behalf=request(agent="Bo", on_behalf_of=("Ada",))) == {
        "network.private"
    }


def test_a_grant_for_one_agent_is_none_for_those_that_have_it_work_for_them():
    policy = policy_of([Grant("network.private", agent="Ada")], Household().remember)
    asked = [request(agent="Ada", on_behalf_of=each) for each in ((), ("Ada",), ("Bo",), ("Ada", "Bo"))]
    assert is_granted(policy, *asked) == [True, True, False, False]
    places = [policy.decisions.granted_places(replace(each, permission="network.private")) for each in asked]
    assert places == [{"/"}, {"/"}, set(), set()]


def test_answers_for_a_session_end_with_it():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    policy = household.policy()
    assert is_granted(policy) == [True]
    policy.decisions.forget_session("s1")
    assert is_granted(policy) == [False]


# Subjects with several parts


BOTH = "bo@example.net, cy@example.org"


@pytest.mark.parametrize(
    ("granted", "expected"),
    [
        (["acme.send:bo@example.net"], False),
        (["acme.send:bo@example.net", "acme.send:cy@example.org"], True),
        (["acme.send:*@example.net", "acme.send:*@example.org"], True),
        (["acme.send:*@example.net", "acme.send:dee@example.org"], False),
        ([f"acme.send:{BOTH}"], True),
        (["acme.send"], True),
    ],
)
def test_each_part_of_a_subject_has_to_be_granted(granted, expected):
    policy = Household().policy(dict.fromkeys(granted, GRANT), with_ask=False)
    assert is_granted(policy, request("acme.send", subject=BOTH)) == [expected]


def test_one_part_that_is_denied_denies_the_whole():
    decided = {"acme.send:*@example.net": GRANT, "acme.send:*@example.org": DENY}
    assert is_granted(Household().policy(decided), request("acme.send", subject=BOTH)) == [False]


def test_parts_may_be_granted_by_different_means():
    policy = Household().policy({"acme.send:*@example.net": GRANT}, allowed=["acme.send:*@example.org"], with_ask=False)
    assert is_granted(policy, request("acme.send", subject=BOTH)) == [True]


@pytest.mark.parametrize(
    ("granted", "subject", "expected"),
    [
        ("acme.write:as work", "as work", True),
        ("acme.write:as work", "as private", False),
        ("acme.write:as *", "as private", True),
        ("acme.write:file-1", "file-1, as private", False),
    ],
)
def test_an_account_is_a_part_of_a_subject(granted, subject, expected):
    policy = Household().policy({granted: GRANT}, with_ask=False)
    assert is_granted(policy, request("acme.write", subject=subject)) == [expected]


@pytest.mark.parametrize(
    ("granted", "subject", "expected"),
    [
        (["acme.write"], "as work", False),
        (["acme.write:as work"], "as work", False),
        (["acme.write:as *"], "as work", False),
        (["acme.write:file-1"], "file-1", True),
        (["acme.write:file-1"], "file-1, as private", False),
        (["acme.write:file-1", "acme.write:as private"], "file-1, as private", True),
        (["acme.write:file-1", "acme.write"], "file-1, as private", True),
        (["acme.write", "acme.write:as private"], "file-1, as private", False),
    ],
)
def test_after_text_from_outside_a_grant_for_an_account_does_not_say_what_for(granted, subject, expected):
    policy = Household().policy(dict.fromkeys(granted, GRANT), with_ask=False)
    assert is_granted(policy, request("acme.write", subject=subject, asks_again=True)) == [expected]


def test_an_answer_for_the_session_about_an_account_is_for_the_tool_that_asked():
    household = Household(PermissionAnswer.SESSION, PermissionAnswer.NO)
    first = request("acme.write", subject="as work")
    other = replace(first, tool_name="another_tool")
    assert is_granted(household.policy(), first, first, other) == [True, True, False]


def test_a_command_with_a_comma_stays_whole():
    policy = Household().policy({"shell.execute:echo a": GRANT, "shell.execute:b": GRANT}, with_ask=False)
    assert is_granted(policy, request("shell.execute", subject="echo a, b")) == [False]


def denial(wanted, **options):
    policy = Household().policy(with_ask=False, **options)
    with pytest.raises(PermissionDeniedError) as error:
        asyncio.run(policy.require(wanted))
    return str(error.value), error.value.permission, error.value.decided_by


NO_ONE = (
    "Permission '{}' is not granted, and no one can be asked here. The user can grant it with: oneclaw permissions "
    "grant "
)


def test_what_is_not_granted_says_how_it_can_be():
    once = "shell.execute.unsandboxed"
    for wanted, command in (
        (request(), "network.private"),
        (
            request(subject="nas.example"),
            "network.private; for this alone with: oneclaw permissions grant network.private:nas.example",
        ),
        (
            request("mail.send", subject="a b"),
            "mail.send; for this alone with: oneclaw permissions grant 'mail.send:a b'",
        ),
        (
            request("mail.send", subject="ada", task="t 1"),
            "mail.send; for this alone with: oneclaw permissions grant mail.send:ada --task 't 1'",
        ),
        (
            request("shell.execute", subject="ls", directory="/a b"),
            "shell.execute; for this alone with: oneclaw permissions grant shell.execute:ls --in '/a b'",
        ),
        (request("mail.send", subject="x" * 191), "mail.send"),
        (request("mail.send", subject="*"), "mail.send"),
        (request("files.read", subject="/etc/shadow"), "files.read:/etc/shadow"),
        (
            request("files.write", subject="/a/b", directory="/a"),
            "files.write; for this directory alone with: oneclaw permissions grant files.write:/a",
        ),
        (request(once, subject="ls"), once),
    ):
        expected = NO_ONE.format(wanted.permission) + command
        assert denial(wanted) == (expected, wanted.permission, "default"), wanted
    name = "mail.send:" + "x" * 190
    assert denial(request("mail.send", subject="x" * 190))[0].endswith(f"oneclaw permissions grant {name}")


def test_what_has_to_be_agreed_with_again_says_why():
    head = "The user has to agree with 'network.public', because this conversation holds mail, and no one can be asked "
    for subject, how in (
        ("a.example", "with: oneclaw permissions grant network.public:a.example"),
        (None, "for one run with: --allow network.public"),
    ):
        wanted = request("network.public", subject=subject, asks_again=True, holds="mail")
        assert denial(wanted)[0] == f"{head}here. The user can grant it {how}"


def test_a_refusal_says_whose_it_is():
    async def require(answer):
        household = Household(answer)
        with pytest.raises(PermissionDeniedError) as error:
            await household.policy().require(request("mail.send", subject="ada"))
        return str(error.value), error.value.permission, error.value.decided_by, household

    text, permission, decided_by, household = asyncio.run(require(PermissionAnswer.NO))
    assert (text, permission, decided_by) == ("Permission 'mail.send' was denied by the user.", "mail.send", "user")
    assert household.remembered == []
    text, permission, decided_by, household = asyncio.run(require(PermissionAnswer.NEVER))
    how = "is set to never. The user can change that with: oneclaw permissions reset"
    assert (text, permission, decided_by) == (f"Permission 'mail.send' {how} mail.send", "mail.send", "user")
    assert household.remembered == [("mail.send", DENY)]
    assert str(denied_for_good("mail.send:a b")) == f"'mail.send:a b' {how} 'mail.send:a b'"
    assert denied_for_good("mail.send:a b").permission == "mail.send"
    (use,) = household.uses
    assert (use.is_granted, use.decided_by, use.subject, use.grant) == (False, "user", "ada", None)


def test_what_answers_would_grant():
    for wanted, session, always in (
        (request("mail.send", agent="Ada"), ("mail.send", None, "Ada"), ("mail.send", None, None)),
        (request("mail.send", subject="a", task="t"), ("mail.send", "a", None), ("mail.send", "a", None)),
        (request("shell.execute", subject="ls"), ("shell.execute", "ls", None), None),
        (
            request("shell.execute", subject="ls", directory="/a"),
            ("shell.execute", None, None),
            ("shell.execute", "ls", None),
        ),
        (request("shell.execute", subject="ls; ls", directory="/a"), ("shell.execute", None, None), None),
        (
            request("files.write", subject="/a/b", directory="/a"),
            ("files.write", None, None),
            ("files.write", None, None),
        ),
        (request("files.write", subject="/a/b"), ("files.write", "/a/b", None), ("files.write", "/a/b", None)),
        (request("shell.execute.unsandboxed", subject="ls", directory="/a"), None, None),
    ):
        for grant, expected in ((wanted.grant_for_session, session), (wanted.grant_for_good, always)):
            assert (grant and (grant.permission, grant.pattern, grant.agent)) == expected
            assert grant is None or (grant.directory, grant.source) == (wanted.directory, "question")
        assert wanted.grant_for_good is None or wanted.grant_for_good.task == wanted.task


def test_a_use_is_recorded_as_it_was():
    household = Household(PermissionAnswer.ONCE)
    wanted = request("mail.send", subject="ada", agent="Poet", task="t", directory="/a")
    asyncio.run(household.policy().require(wanted))
    (use,) = household.uses
    assert (use.permission, use.subject, use.detail, use.tool_name, use.is_granted, use.decided_by) == (
        *("mail.send", "ada", "detail", "http_request", True, "user"),
    )
    assert (use.session_id, use.agent, use.task, use.directory, use.grant) == ("s1", "Poet", "t", "/a", None)


def test_in_a_sandbox_nothing_is_asked():
    async def work():
        household = Household()
        policy = household.policy()
        wanted = request("shell.execute", subject="ls", directory="/a")
        assert await policy.require(wanted, "bubblewrap") == "sandbox"
        assert await policy.require(wanted, "") == "sandbox"
        (use,) = household.uses
        assert (use.detail, use.decided_by, use.is_granted) == ("in the sandbox bubblewrap", "sandbox", True)
        granted = Household().policy({"shell.execute": GRANT})
        assert await granted.require(wanted, "bubblewrap") == "grant"
        allowed = Household().policy(allowed=["shell.execute"])
        assert await allowed.require(wanted, "bubblewrap") == "option"
        assert await allowed.require(request("network.public")) == "default"

    asyncio.run(work())


def test_known_decisions_are_recorded_where_they_are_found_unchanged():
    async def work():
        household, known = Household(), []
        answers = [True, False]

        async def record_known(use, decided):
            known.append((use.decided_by, decided))
            return answers.pop(0)

        decided = decisions({"mail.send": GRANT})
        policy = policy_of(decided, household.remember, None, ("a.b",), household.record, None, None, record_known)
        assert await policy.require(request("mail.send")) == "grant"
        assert (known, household.uses) == ([("grant", tuple(decided))], [])
        assert await policy.require(request("mail.send")) == "grant"
        assert [each.grant for each in household.uses] == [decided[0].key]
        assert await policy.require(request("network.public")) == "default"
        assert len(known) == 2

    asyncio.run(work())


def test_a_question_of_a_tool_needs_a_person():
    from oneclaw_core import NobodyToAskError
    from oneclaw_core.types.user_question import UserQuestion

    async def answer(question):
        return question.question

    async def slow(question):
        await asyncio.sleep(10)

    async def work():
        plain = UserQuestion("Who?", session_id="s1")
        form = UserQuestion("Who?", session_id="s1", form={})
        policy = policy_of((), None)
        for question in (plain, form):
            with pytest.raises(NobodyToAskError) as error:
                await policy.people.ask_user(question, None)
            assert str(error.value) == "no one can be asked here"
        policy = policy_of((), None, ask_user=answer)
        assert await policy.people.ask_user(plain, None) == "Who?"
        with pytest.raises(NobodyToAskError) as error:
            await policy.people.ask_user(form, None)
        assert str(error.value) == "no form can be shown here: ask for one value after the other"
        with policy.people.answered_by("s1", None, answer, shows_forms=True):
            assert await policy.people.ask_user(form, 5.0) == "Who?"
        with policy.people.answered_by("s1", None, slow), pytest.raises(TimeoutError):
            await policy.people.ask_user(plain, 0.01)
        with policy.people.answered_by("s1", None):
            assert await policy.people.ask_user(plain, None) == "Who?"
        with policy.people.answered_by("s1", None, or_nobody=True), pytest.raises(NobodyToAskError):
            await policy.people.ask_user(plain, None)
        assert await policy.people.ask_user(plain, None) == "Who?"
        assert not policy.people.can_ask_in("s1")
        with policy.people.answered_by("s1", answer):
            with policy.people.answered_by("s1", None, or_nobody=True):
                assert not policy.people.can_ask_in("s1")
            assert [policy.people.can_ask_in(each) for each in ("s1", "s2", None)] == [True, False, False]

    asyncio.run(work())


def test_a_grant_is_put_into_words():
    until = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    whole = Grant("network.private", "nas", agent="Ada", task="t", directory="/a", until=until)
    assert grant_in_words(Grant("mail.send")) == "mail.send"
    assert grant_in_words(whole) == (
        "network.private for the host nas in /a, by the agent Ada, in the task t, until "
        f"{until.astimezone():%Y-%m-%d %H:%M}"
    )


def test_only_defaults_are_granted_without_a_decision():
    for permission, is_default, is_default_for_subject in (
        ("agents.create", True, True),
        ("files.read", True, False),
        ("files.write", True, False),
        ("memory.write", True, True),
        ("network.public", True, True),
        ("network.private", False, False),
        ("tools.write", False, False),
    ):
        policy = Household().policy()
        assert policy.decisions.is_granted(request(permission)) is is_default
        assert policy.decisions.is_granted(request(permission, subject="/a")) is is_default_for_subject
        assert not policy.decisions.is_granted(request(permission, asks_again=True))
    assert not Household().policy({"mail.send": DENY}).decisions.is_granted(request("mail.send"))


class Log:
    """A store as far as permissions of tasks are concerned."""

    def __init__(self, uses=(), grants=()):
        self.uses, self.given, self.asked, self.removed = list(uses), list(grants), [], []

    async def grants(self):
        return self.given

    async def permission_log(self, limit, session_id):
        self.asked.append((limit, session_id))
        return self.uses

    async def set_grant(self, grant):
        self.given.append(grant)

    async def remove_task_grants(self, task):
        self.removed.append(task)
        return 3


def test_what_a_task_lacked_can_be_granted_to_it():
    def use(permission, subject=None, task="t", decided_by="default", directory=None, *, is_granted=False):
        return PermissionUse(
            permission, subject, "", "tool", is_granted, decided_by, "s1", "Poet", task, directory, None
        )

    async def work():
        store = Log(
            [
                use("mail.send", "ada"),
                use("mail.send", "ada", is_granted=True),
                use("mail.send", "bob", is_granted=True),
                use("mail.send", "bob"),
                use("mail.send", "eve", task="other"),
                use("mail.send", "eve", decided_by="denial"),
                use("tools.write"),
                use("tasks.write"),
                use("shell.execute.unsandboxed", "ls"),
                use("mail.send", "zoe"),
                use("shell.execute", "ls", directory="/a"),
            ],
            [Grant("tasks.write", task="t"), Grant("mail.send", "zoe", DENY, task="t")],
        )
        permissions = TaskPermissions(store)
        found = await permissions.lacked("t", "s1")
        assert [(each.permission, each.pattern, each.task, each.directory) for each in found] == [
            ("shell.execute", "ls", "t", "/a"),
            ("mail.send", "zoe", "t", None),
            ("tools.write", None, "t", None),
            ("mail.send", "ada", "t", None),
        ]
        assert store.asked == [(500, "s1")]
        await permissions.grant(found[0])
        assert store.given[-1] is found[0]
        for grant in (Grant("a.b", "c"), Grant("a.b", "c", DENY, task="t")):
            with pytest.raises(UsageError) as error:
                await permissions.grant(grant)
            assert str(error.value) == "a.b:c: this is not a grant for one task"
        assert (await permissions.forget("t"), store.removed) == (3, ["t"])

    asyncio.run(work())
