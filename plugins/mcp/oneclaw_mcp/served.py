"""The server of the SDK for an offer: tools, prompts and resources, each call through OneClaw."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from oneclaw_core import NotFoundError, OneClawError, ToolClient, ToolResult, UsageError, __version__
from oneclaw_core.tools import one_line
from oneclaw_mcp.asking import ClientUser, OpenCalls, is_modern
from oneclaw_mcp.cleaning import cleaned
from oneclaw_mcp.direct import DirectTools
from oneclaw_mcp.gateway import READ_WITH_TOOL, Answer, Gateway, answer_of
from oneclaw_mcp.list_changes import ListChanges
from oneclaw_mcp.offer import group_of
from oneclaw_mcp.served_prompts import expanded_prompt, listed_prompts
from oneclaw_mcp.workspace import READ_FILE, Workspace

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server as SdkServer

    from oneclaw_core import ExpandedMessage, OneClaw
    from oneclaw_mcp.journal import CallJournal
    from oneclaw_mcp.offer import Offer

_TTL_MS = 60_000
_INVALID, _OLD_NOT_FOUND = -32602, -32002


@dataclass(slots=True)
class ServedOffer:
    """One offer on the wire.

    Attributes:
        claw: the open home.
        offer: the tools.
        tools: of the server.
        client: on whose behalf tools are called.
        calls: those that are under way.
        journal: of all calls.
        changes: tells clients of changes of the list of tools; ``None`` for a list that never changes.
    """

    claw: OneClaw
    offer: Offer
    tools: Gateway | DirectTools
    client: ToolClient
    calls: OpenCalls
    journal: CallJournal
    changes: ListChanges | None = None

    @classmethod
    def make(cls, claw: OneClaw, offer: Offer, journal: CallJournal, *, is_direct: bool) -> ServedOffer:
        """Make what answers the requests for an offer."""
        name = f"mcp:{offer.token.name}" if offer.token is not None else "mcp"
        client = ToolClient(name, selection=offer.selection)
        if offer.agent is not None:
            client = replace(client, agent=offer.agent.name)
        if not is_direct:
            return cls(claw, offer, Gateway(claw, offer), client, OpenCalls(), journal)
        tools = DirectTools(claw, offer)
        return cls(claw, offer, tools, client, OpenCalls(), journal, ListChanges(claw, tools))

    async def refresh(self) -> None:
        """Take over what the user has changed of the agent since the last request.

        Raises:
            MCPError: the agent is gone.
        """
        from mcp import MCPError

        before = self.offer.agent
        if before is None:
            return
        try:
            found = await self.claw.agents.get(before.id)
        except NotFoundError:
            raise MCPError(_INVALID, f"there is no agent {one_line(before.name, 100)!r} any more") from None
        if found != before:
            self.offer = replace(self.offer, agent=found)
            self.client = replace(self.client, agent=found.name, selection=self.offer.selection)
            self.tools.narrow(self.offer)

    async def list_tools(self, context: Any, parameters: Any) -> Any:
        """Answer ``tools/list``."""
        from mcp import MCPError
        from mcp_types import ListToolsResult

        await self.refresh()
        if self.changes is not None:
            self.changes.note(context)
        cursor = parameters.cursor if parameters is not None else None
        try:
            if isinstance(self.tools, Gateway):
                if cursor is not None:
                    raise ValueError(cursor)
                tools, following = self.tools.tools, None
            else:
                tools, following = self.tools.page(cursor)
        except ValueError:
            raise MCPError(_INVALID, "there is no such cursor") from None
        return ListToolsResult.model_validate({"tools": tools, "nextCursor": following})

    async def call_tool(self, context: Any, parameters: Any) -> Any:
        """Answer ``tools/call``."""
        from mcp import MCPError
        from mcp_types import CallToolResult, InputRequiredResult

        await self.refresh()
        if self.tools.input_schema(parameters.name) is None:
            raise MCPError(_INVALID, f"there is no tool {one_line(parameters.name, 100)!r}")

        async def work(user: ClientUser) -> ToolResult | Answer:
            async def call(name: str, arguments: str) -> ToolResult:
                is_reading = isinstance(self.tools, Gateway) and parameters.name == READ_WITH_TOOL
                return await self._called(user, name, arguments, is_read_only=is_reading)

            return await self.tools.call(parameters.name, parameters.arguments or {}, call)

        outcome = await self.calls.run(context, parameters, work)
        if isinstance(outcome, InputRequiredResult):
            return outcome
        answer = outcome if isinstance(outcome, Answer) else answer_of(outcome)
        document = {"content": answer.blocks, "isError": answer.is_error}
        if isinstance(answer.structured, dict) or (answer.structured is not None and is_modern(context)):
            document["structuredContent"] = answer.structured
        return CallToolResult.model_validate(document)

    async def list_prompts(self, context: Any, parameters: Any) -> Any:
        """Answer ``prompts/list``."""
        from mcp_types import ListPromptsResult

        await self.refresh()
        return ListPromptsResult.model_validate({"prompts": await listed_prompts(self.claw, self.offer)})

    async def get_prompt(self, context: Any, parameters: Any) -> Any:
        """Answer ``prompts/get``."""
        from mcp import MCPError
        from mcp_types import GetPromptResult

        await self.refresh()
        try:
            found = await self._prompt(parameters.name, parameters.arguments or {})
        except (NotFoundError, UsageError) as error:
            raise MCPError(_INVALID, str(error)) from None
        except OneClawError as error:
            raise MCPError(-32603, str(error)) from None
        message = {"role": "user", "content": {"type": "text", "text": found.text}}
        return GetPromptResult.model_validate({"messages": [message]})

    async def _prompt(self, name: str, arguments: dict[str, str]) -> ExpandedMessage:
        """Expand a prompt, which is in the journal as ``/NAME``; what it says may be text from outside."""
        number = await self.journal.begin(self.client.name, f"/{one_line(cleaned(name, 100))}", json.dumps(arguments))
        began = time.monotonic()
        result = ToolResult.error("execution_error", "")
        try:
            found = await expanded_prompt(self.claw, self.offer, name, arguments)
            result = ToolResult.success()
        except NotFoundError:
            result = ToolResult.error("not_found", "")
            raise
        finally:
            with CancelScope(shield=True):
                await self.journal.end(number, result, (time.monotonic() - began) * 1000)
        outside = self.client.provenance.outside
        if found.outside and found.outside not in outside:
            outside.append(found.outside)
        return found

    async def list_resources(self, context: Any, parameters: Any) -> Any:
        """Answer ``resources/list``; clients that may not read files get none."""
        from mcp_types import ListResourcesResult

        await self.refresh()
        found = await Workspace(self.claw.home.workspace).listed() if self._reads_files() else []
        return ListResourcesResult.model_validate({"resources": found})

    async def list_templates(self, context: Any, parameters: Any) -> Any:
        """Answer ``resources/templates/list``."""
        from mcp_types import ListResourceTemplatesResult

        return ListResourceTemplatesResult(resource_templates=[])

    async def read_resource(self, context: Any, parameters: Any) -> Any:
        """Answer ``resources/read``."""
        from mcp import MCPError
        from mcp_types import InputRequiredResult, ReadResourceResult

        await self.refresh()
        missing = MCPError(
            _INVALID if is_modern(context) else _OLD_NOT_FOUND, "there is no such resource", {"uri": parameters.uri}
        )
        if not self._reads_files():
            raise missing
        workspace = Workspace(self.claw.home.workspace)

        async def work(user: ClientUser) -> ToolResult | dict[str, Any]:
            async def call(name: str, arguments: str) -> ToolResult:
                return await self._called(user, name, arguments)

            return await workspace.read(parameters.uri, call)

        try:
            outcome = await self.calls.run(context, parameters, work)
        except FileNotFoundError:
            raise missing from None
        except UsageError as error:
            raise MCPError(_INVALID, str(error)) from None
        if isinstance(outcome, InputRequiredResult):
            return outcome
        if not isinstance(outcome, dict):
            raise MCPError(-32603, f"{outcome.error_type}: {outcome.error_message}")
        return ReadResourceResult.model_validate({"contents": [outcome]})

    def _reads_files(self) -> bool:
        return self.offer.shows(self.claw.services.registry, READ_FILE)

    async def _called(self, user: ClientUser, name: str, arguments: str, *, is_read_only: bool = False) -> ToolResult:
        group = group_of(self.claw.services.registry, name)
        selection = self.offer.selection_of_call(name, group)
        is_read_only = is_read_only or not self.offer.calls(group)
        client = replace(self.client, selection=selection, progress=user.report, is_read_only=is_read_only)
        if self.offer.can_approve and user.can_be_asked:
            client = replace(client, ask=user.ask, ask_user=user.ask_user, shows_forms=True)
        number = await self.journal.begin(client.name, name, arguments)
        result, duration_ms = ToolResult.error("interrupted", "The call was interrupted."), 0.0
        try:
            outcome = await self.claw.call_tool(name, arguments, client=client)
            result, duration_ms = outcome.result, outcome.duration_ms
        finally:
            with CancelScope(shield=True):
                await self.journal.end(number, result, duration_ms)
        if self.changes is not None:
            await self.changes.look()
        return result

    async def watch(self) -> None:
        """Tell clients of changes of the list of tools until cancelled."""
        if self.changes is not None:
            await self.changes.watch()

    def end_subscriptions(self) -> None:
        """End the streams that clients listen on, so that no end of a call is waited for on them."""
        if self.changes is not None:
            self.changes.close()

    async def aclose(self) -> None:
        """End the calls that wait for an answer, and all subscriptions."""
        self.end_subscriptions()
        await self.calls.aclose()


def sdk_server(served: ServedOffer) -> SdkServer[Any]:
    """Make the server of the SDK."""
    from mcp.server.caching import CacheHint
    from mcp.server.lowlevel import NotificationOptions
    from mcp.server.lowlevel import Server as SdkServer

    class DirectServer(SdkServer[Any]):
        """Announces in both eras that the list of tools can change, and nothing else."""

        def get_capabilities(self, notification_options: Any = None, *arguments: Any, **named: Any) -> Any:
            options = NotificationOptions(tools_changed=True)
            found = super().get_capabilities(options, *arguments, **named)
            if found.prompts is not None:
                found.prompts.list_changed = False
            if found.resources is not None:
                found.resources.list_changed = found.resources.subscribe = False
            return found

    hint = CacheHint(ttl_ms=_TTL_MS, scope="private")
    changes = served.changes
    return (SdkServer if changes is None else DirectServer)(
        "oneclaw",
        version=__version__,
        instructions=served.tools.instructions(),
        get_tool_input_schema=served.tools.input_schema,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_prompts=served.list_prompts,
        on_get_prompt=served.get_prompt,
        on_list_resources=served.list_resources,
        on_list_resource_templates=served.list_templates,
        on_read_resource=served.read_resource,
        on_subscriptions_listen=changes.listen if changes is not None else None,
        cache_hints={"tools/list": hint, "prompts/list": hint},
    )
