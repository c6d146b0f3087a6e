import json

import acme_redactor
import pytest
from pytest_oneclaw import HomeFactory, HomeUnderTest, assert_tool_called, assert_tool_error

from oneclaw_core import CallInfo, ToolRegistrar, ToolResult, hookimpl, remember_secret, tool

SECRET = "AKIA" + "Q" * 16
SHOWN = "[redacted]"


@tool
def keys(kind: str) -> object:
    """Return a secret in a result of a kind."""
    results: dict[str, object] = {
        "text": f"key: {SECRET}.",
        "object": {"key": [SECRET, 3], SECRET: None},
        "error": ToolResult.error("refused", f"the service does not know {SECRET}"),
        "lines": "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----\nthe rest",
    }
    if kind == "exception":
        raise ValueError(f"the service does not know {SECRET}")
    return results[kind]


class Observer:
    """Stands for another plugin, which sees results and rewrites them too."""

    __name__ = "observer"

    def __init__(self) -> None:
        self.seen: list[ToolResult] = []

    @hookimpl
    def register_tools(self, register: ToolRegistrar) -> None:
        register(keys)

    @hookimpl
    def rewrite_tool_result(self, result: ToolResult) -> ToolResult | None:
        return ToolResult.success(result.result + f" See also {SECRET}.") if isinstance(result.result, str) else None

    @hookimpl
    async def after_tool_call(self, call: CallInfo, result: ToolResult) -> None:
        self.seen.append(result)


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def home(oneclaw_factory: HomeFactory, observer: Observer) -> HomeUnderTest:
    return oneclaw_factory([acme_redactor, observer])


def test_a_secret_in_a_text_is_replaced_behind_all_other_rewriters(home: HomeUnderTest) -> None:
    assert home.call_tool("keys", kind="text").result == f"key: {SHOWN}. See also {SHOWN}."


def test_secrets_in_objects_are_replaced(home: HomeUnderTest) -> None:
    assert home.call_tool("keys", kind="object").result == {"key": [SHOWN, 3], SHOWN: None}


@pytest.mark.parametrize(("kind", "error_type"), [("error", "refused"), ("exception", "execution_error")])
def test_secrets_in_errors_are_replaced(home: HomeUnderTest, kind: str, error_type: str) -> None:
    result = home.call_tool("keys", kind=kind)
    assert SECRET not in str(result)
    assert_tool_error(result, error_type, SHOWN)


def test_a_private_key_is_replaced_as_a_whole(home: HomeUnderTest) -> None:
    assert home.call_tool("keys", kind="lines").result == f"{SHOWN}\nthe rest See also {SHOWN}."


def test_a_secret_that_oneclaw_knows_is_replaced(home: HomeUnderTest) -> None:
    remember_secret("correct horse battery")
    (home.project / "a.txt").write_text("It is correct horse battery.")
    assert home.call_tool("read_file", path="a.txt").result.startswith(f"It is {SHOWN}.")


def test_neither_the_model_nor_the_store_nor_observers_see_the_secret(home: HomeUnderTest, observer: Observer) -> None:
    home.model.calls("keys", kind="text").calls("keys", kind="error").then("Done.")

    turn = home.send("Which keys are there?")
    home.reopen()

    assert SHOWN in assert_tool_called(turn, "keys").result.text()
    assert SECRET not in str(home.model.requests)
    assert SHOWN in str(home.model.requests[-1].messages)
    assert len(observer.seen) == 2
    assert SECRET not in str(observer.seen)
    files = [path for path in home.home.path.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []


def test_the_patterns_are_a_setting(oneclaw_factory: HomeFactory, observer: Observer) -> None:
    given = {"ONECLAW_ACME_REDACTOR_PATTERNS": json.dumps(["k[e]y"]), "ONECLAW_ACME_REDACTOR_REPLACEMENT": r"\1 ***"}
    home = oneclaw_factory([acme_redactor, observer], environ=given)
    assert home.call_tool("keys", kind="text").result == rf"\1 ***: {SECRET}. See also {SECRET}."


@pytest.mark.long
def test_a_result_is_withheld_if_a_pattern_is_faulty(oneclaw_factory: HomeFactory, observer: Observer) -> None:
    home = oneclaw_factory([acme_redactor, observer], environ={"ONECLAW_ACME_REDACTOR_PATTERNS": '["("]'})
    result = home.call_tool("keys", kind="text")
    assert_tool_error(result, "unknown_outcome", "its result is withheld")
    assert SECRET not in str(result)


def test_a_result_without_secrets_stays_as_it_is(home: HomeUnderTest) -> None:
    (home.project / "a.txt").write_text("AKIA is how such keys begin.")
    assert home.call_tool("read_file", path="a.txt").result.startswith("AKIA is how such keys begin.")
