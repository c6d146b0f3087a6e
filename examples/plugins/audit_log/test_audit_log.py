import json
from typing import Any

import acme_audit_log
import pytest
from pytest_oneclaw import HomeFactory, HomeUnderTest

from oneclaw_core import CallInfo, Deny, hookimpl, remember_secret

Entries = list[dict[str, Any]]


@hookimpl
async def before_tool_call(call: CallInfo) -> Deny | None:
    return Deny("not today") if call.tool == "webfetch" else None


class Policy:
    __name__ = "policy"
    before_tool_call = staticmethod(before_tool_call)


@pytest.fixture
def home(oneclaw_factory: HomeFactory, database_environ: dict[str, str]) -> HomeUnderTest:
    environ = database_environ | {"ONECLAW_SANDBOX": "off"}  # in a sandbox, commands need no decision
    made = oneclaw_factory([acme_audit_log, Policy(), "shell", "web"], environ=environ)
    (made.project / "a.txt").write_text("text")
    return made


def entries_of(home: HomeUnderTest) -> Entries:
    """Read what is logged, the oldest first, after all observers are done."""

    async def read() -> Entries:
        await home.app.plugins.drain(5)
        context = await home.app.plugins.context_of("acme_audit_log")
        tables = await context.storage.tables([acme_audit_log._create])
        return list(reversed(await tables.read(acme_audit_log._newest, 20)))

    home.app  # noqa: B018  # opens the home
    return home.run(read())


def test_calls_and_decisions_are_logged_with_their_session(home: HomeUnderTest) -> None:
    home.model.calls("read_file", path="a.txt").calls("read_file", path="b.txt").then("Done.")
    home.send("Read.")
    home.reopen()

    entries = entries_of(home)

    assert [(each["tool"], each["event"], each["detail"], each["outcome"]) for each in entries] == [
        ("read_file", "permission", "files.read", "granted by default"),
        ("read_file", "call", '{"path": "a.txt"}', "ok"),
        ("read_file", "permission", "files.read", "granted by default"),
        ("read_file", "call", '{"path": "b.txt"}', "execution_error"),
    ]
    assert {each["agent"] for each in entries} == {"General Assistant"}
    assert len({each["session"] for each in entries}) == 1
    assert entries[0]["session"]
    assert [each["duration_ms"] is not None for each in entries] == [False, True, False, True]


def test_a_call_that_a_policy_denies_is_logged(home: HomeUnderTest) -> None:
    home.call_tool("webfetch", url="https://example.com/")
    decision, call = entries_of(home)
    assert (decision["event"], decision["outcome"]) == ("permission", "denied by plugin policy")
    assert (call["event"], call["outcome"], call["session"]) == ("call", "permission_denied", None)


@pytest.mark.parametrize("answer", ["once", "no"])
def test_who_decided_is_logged(home: HomeUnderTest, answer: str) -> None:
    home.user.says(answer, to="shell.execute")
    home.call_tool("exec", command="true")
    decision = entries_of(home)[0]
    assert decision["detail"] == "shell.execute true"
    assert decision["outcome"] == ("granted by user" if answer == "once" else "denied by user")


def test_arguments_are_redacted(home: HomeUnderTest) -> None:
    remember_secret("correct horse battery")
    home.call_tool("write_file", path="correct horse battery.txt", content="private")
    detail = json.loads(entries_of(home)[-1]["detail"])
    assert detail == {"path": "[redacted].txt", "content": "[hidden]"}
