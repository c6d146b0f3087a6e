"""Tools written for version 0.2 say how they behave by attributes. They work, with a warning."""

import asyncio
import re

import pytest
from policies import policy_of

from oneclaw_core import ToolCall, ToolDefinition, ToolRegistry, ToolResult, hookimpl, tool
from oneclaw_core.files import PathGuard
from oneclaw_core.manifests import ManifestTool
from oneclaw_core.permissions import Decision, Grant
from oneclaw_core.provenance.marks import CallOrigins
from oneclaw_core.tools import FunctionTarget, ToolBehaviour
from oneclaw_core.tools.calls.call import Caller
from oneclaw_core.wiring import tool_executor

WHERE = {"type": "object", "properties": {"where": {"type": "string"}}, "required": ["where"]}
ATTRIBUTES = {"asks_itself": True, "checks_own_arguments": True, "is_poll": True, "isolation": "process"}


class Mailer:
    """A tool as 0.2 had them."""

    definition = ToolDefinition("send_mail", "Sends a mail.", WHERE, required_permissions=("mail.send",))

    async def execute(self, arguments, context):
        return ToolResult.success(f"sent to {arguments.get('where')}")


class Nested:
    """A plugin with one tool."""

    def __init__(self, given):
        self.given = given

    @hookimpl
    def register_tools(self, register):
        register(self.given)


def mailer(**attributes):
    return type("Mailer", (Mailer,), attributes)()


def warns_of(attribute, name="send_mail"):
    value = re.escape(repr(ATTRIBUTES[attribute]))
    return pytest.warns(
        DeprecationWarning, match=rf"the tool '{name}' .* behaviour=ToolBehaviour\({attribute}={value}\)"
    )


def run(registry, home, arguments, decision):
    async def call():
        policy = policy_of([Grant("mail.send", decision=decision)] if decision else [], None)
        executor = tool_executor(registry, policy, CallOrigins(PathGuard(home, home)), home)
        caller = Caller(registry.toolset().active([]), "Tester", "session")
        return (await executor.execute([ToolCall("c", "send_mail", arguments)], caller))[0].result

    return asyncio.run(call())


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_each_attribute_is_part_of_the_definition(attribute):
    registry = ToolRegistry()
    with warns_of(attribute):
        registry.register(mailer(**{attribute: ATTRIBUTES[attribute]}))

    assert registry.get_definition("send_mail").behaviour == ToolBehaviour(**{attribute: ATTRIBUTES[attribute]})


def test_a_tool_that_asks_by_itself_is_not_asked_for_as_a_whole(tmp_path):
    asking, plain = ToolRegistry(), ToolRegistry()
    with warns_of("asks_itself"):
        asking.register(mailer(asks_itself=True))
    plain.register(mailer())

    # Nobody can be asked here, so a call that needs an answer fails.
    assert run(asking, tmp_path, '{"where": "ada"}', None).result == "sent to ada"
    assert run(plain, tmp_path, '{"where": "ada"}', None).error_type == "permission_denied"
    assert run(asking, tmp_path, '{"where": "ada"}', Decision.DENY).error_type == "permission_denied"


def test_a_tool_that_checks_its_arguments_gets_them_as_they_are(tmp_path):
    checking, plain = ToolRegistry(), ToolRegistry()
    with warns_of("checks_own_arguments"):
        checking.register(mailer(checks_own_arguments=True))
    plain.register(mailer())

    assert run(checking, tmp_path, "{}", Decision.GRANT).result == "sent to None"
    assert run(plain, tmp_path, "{}", Decision.GRANT).error_type == "validation_error"


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_a_plugin_keeps_its_tool_and_gets_a_note(attribute, oneclaw_factory):
    made = oneclaw_factory([Nested(mailer(**{attribute: ATTRIBUTES[attribute]}))])
    with warns_of(attribute):
        catalog = made.app.catalog

    assert getattr(catalog.registry.get_definition("send_mail").behaviour, attribute) == ATTRIBUTES[attribute]
    (note,) = [problem for record in catalog.plugins for problem in record.problems]
    assert not note.is_error
    assert f"behaviour=ToolBehaviour({attribute}=" in note.cause


def test_an_attribute_of_a_function_that_was_decorated_counts_too():
    @tool
    def refresh() -> str:
        """Refresh the list."""
        return "done"

    refresh.asks_itself = True
    registry = ToolRegistry()
    with warns_of("asks_itself", "refresh"):
        registry.register(refresh)

    assert registry.get_definition("refresh").behaviour.asks_itself


@pytest.mark.parametrize("value", [False, None, "yes", 1])
def test_values_that_had_no_effect_have_none(value):
    registry = ToolRegistry()
    registry.register(mailer(asks_itself=value, isolation=None))

    assert registry.get_definition("send_mail").behaviour == ToolBehaviour()


def test_a_definition_that_says_the_same_needs_no_warning():
    registry = ToolRegistry()
    definition = ToolDefinition("send_mail", "Sends a mail.", behaviour=ToolBehaviour(is_poll=True))
    registry.register(mailer(definition=definition, is_poll=True))

    assert registry.get_definition("send_mail") is definition


@pytest.mark.parametrize("attribute", ["isolation", "asks_itself", "is_poll"])
def test_a_tool_of_a_manifest_made_as_in_0_2_behaves_so(attribute):
    target = FunctionTarget("acme.mails", "send", "the manifest")
    with warns_of(attribute):
        made = ManifestTool(Mailer.definition, target, **{attribute: ATTRIBUTES[attribute]})

    assert made.definition.behaviour == ToolBehaviour(**{attribute: ATTRIBUTES[attribute]})
    registry = ToolRegistry()
    registry.register(made)
    assert registry.get_definition("send_mail") is made.definition


@pytest.mark.parametrize(("attribute", "value"), [("is_poll", True), ("isolation", None)])
def test_attributes_of_decorated_functions_can_still_be_read(attribute, value):
    @tool(is_poll=True)
    def refresh() -> str:
        """Refresh the list."""
        return "done"

    with pytest.warns(DeprecationWarning, match=f"'refresh' is definition.behaviour.{attribute} now"):
        assert getattr(refresh, attribute) == value
