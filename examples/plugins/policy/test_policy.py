import json

import acme_policy
import pytest
from pytest_oneclaw import (
    HomeFactory,
    HomeUnderTest,
    assert_permission_asked,
    assert_tool_called,
    assert_tool_error,
    assert_tool_succeeded,
)

RULES = [
    {"action": "allow", "tools": "read_file", "arguments": {"path": "notes/*"}},
    {"action": "deny", "tools": "read_file", "arguments": {"path": "*.draft*"}, "reason": "drafts stay closed"},
    {"action": "deny", "tools": "exec", "arguments": {"command": "*rm -rf*"}},
    {"action": "ask", "tools": "*_file", "reason": "files need a second look"},
    {"action": "deny", "tools": "pdf"},
    {"action": "deny", "arguments": {"action": "del*"}, "tools": "unknown"},
]


@pytest.fixture
def home(oneclaw_factory: HomeFactory) -> HomeUnderTest:
    made = oneclaw_factory([acme_policy, "pdf", "shell"], environ={"ONECLAW_ACME_POLICY_RULES": json.dumps(RULES)})
    (made.project / "notes").mkdir()
    for name in ("a.txt", "a.draft.txt", "notes/b.draft.txt"):
        (made.project / name).write_text("text")
    return made


def test_a_call_is_denied_by_a_pattern_of_an_argument(home: HomeUnderTest) -> None:
    assert_tool_error(home.call_tool("read_file", path="a.draft.txt"), "permission_denied", "drafts stay closed")
    assert_tool_error(home.call_tool("exec", command="cd /tmp && rm -rf x"), "permission_denied", "deny for exec")


def test_a_whole_group_is_denied(home: HomeUnderTest) -> None:
    assert_tool_error(home.call_tool("pdf_info", path="a.pdf"), "permission_denied", "plugin acme_policy")


def test_the_first_rule_that_matches_decides(home: HomeUnderTest) -> None:
    assert_tool_succeeded(home.call_tool("read_file", path="notes/b.draft.txt"))


def test_calls_that_no_rule_is_about_go_on(home: HomeUnderTest) -> None:
    assert_tool_succeeded(home.call_tool("get_current_time"))


@pytest.mark.parametrize("answer", ["once", "no"])
def test_the_user_is_asked_by_a_rule(home: HomeUnderTest, answer: str) -> None:
    home.user.says(answer, to="policy.read_file")
    result = home.call_tool("read_file", path="a.txt")
    assert_permission_asked(home.user, "policy.read_file", match="files need a second look")
    assert result.is_success == (answer == "once")


@pytest.mark.long
def test_always_is_an_answer_for_one_tool(home: HomeUnderTest) -> None:
    home.user.says("always", to="policy.read_file")
    home.user.says("no", to="policy.write_file")
    assert_tool_succeeded(home.call_tool("read_file", path="a.txt"))
    assert_tool_error(home.call_tool("write_file", path="b.txt", content="b"), "permission_denied")
    home.reopen()
    assert_tool_succeeded(home.call_tool("read_file", path="a.txt"))
    assert len(home.user.asked) == 2


def test_a_model_is_told_the_reason(home: HomeUnderTest) -> None:
    home.model.calls("read_file", path="a.draft.txt").then("I may not.")
    turn = home.send("Show me the keys.")
    assert_tool_error(assert_tool_called(turn, "read_file"), "permission_denied", "drafts stay closed")


@pytest.mark.parametrize("rules", ["[{}]", '[{"action": "refuse"}]', '[{"action": "deny", "tool": "exec"}]', "deny"])
def test_a_faulty_policy_denies_everything(oneclaw_factory: HomeFactory, rules: str) -> None:
    home = oneclaw_factory([acme_policy], environ={"ONECLAW_ACME_POLICY_RULES": rules})
    assert_tool_error(home.call_tool("get_current_time"), "permission_denied", "ONECLAW_ACME_POLICY_RULES")
