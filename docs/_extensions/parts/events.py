"""The events of a turn as `oneclaw run --json` prints them, by what each makes of itself."""

from __future__ import annotations

import json
from typing import Any, get_args

from oneclaw_core import (
    CompactedEvent,
    GroupLoadedEvent,
    ModelSwitchedEvent,
    NoticeEvent,
    OutputEvent,
    ReasoningEvent,
    RetryEvent,
    SteeredEvent,
    TextEvent,
    TextWithdrawnEvent,
    TokenUsage,
    ToolCallEvent,
    ToolProgressEvent,
    ToolResult,
    ToolResultEvent,
    TurnEvent,
    TurnFinishedEvent,
    UsageEvent,
)
from oneclaw_core.types.messages import StopReason
from parts._markdown import code, docstring

_SAMPLES: dict[type, list[Any]] = {
    TextEvent: [TextEvent("It has 6")],
    OutputEvent: [OutputEvent({"name": "Lagos", "population": 15})],
    TextWithdrawnEvent: [TextWithdrawnEvent("The user wants to know how many pages")],
    NoticeEvent: [NoticeEvent("lab sends tool calls as text: what it wrote was run")],
    ReasoningEvent: [ReasoningEvent("The file is a PDF, so")],
    ToolCallEvent: [ToolCallEvent("call_20", "load_tool_group", {"group_name": "pdf"})],
    ToolProgressEvent: [ToolProgressEvent("call_23", "table_fetch", "65536 bytes", 0.25)],
    ToolResultEvent: [
        ToolResultEvent("call_23", "table_info", ToolResult.success({"rows": 3}), 1.234),
        ToolResultEvent("call_24", "table_info", ToolResult.error("file_not_found", "There is no file 'a.csv'."), 0.5),
    ],
    GroupLoadedEvent: [GroupLoadedEvent("pdf", ("pdf_info", "pdf_extract_text", "pdf_render_page"))],
    SteeredEvent: [SteeredEvent("Only the first page, please.")],
    CompactedEvent: [CompactedEvent(48, 900, "context_window")],
    RetryEvent: [RetryEvent("the service is overloaded", 1.5)],
    ModelSwitchedEvent: [
        ModelSwitchedEvent("openai/gpt-6", "anthropic/claude-sonnet-5", "anthropic takes no more requests for now")
    ],
    UsageEvent: [
        UsageEvent("offline/rules", TokenUsage(input_tokens=734, cached_input_tokens=0, output_tokens=9), 0.0),
        UsageEvent(
            "anthropic/claude-sonnet-5", TokenUsage(input_tokens=734, output_tokens=3, is_at_least=True), 0.0022
        ),
    ],
    TurnFinishedEvent: [
        TurnFinishedEvent("report", "It has 6 pages."),
        TurnFinishedEvent("report", "It has", StopReason.LENGTH_LIMIT),
        TurnFinishedEvent("report", "It has 6 pages.", model="openai/gpt-6"),
        TurnFinishedEvent("report", '{"pages": 6}', output={"pages": 6}),
    ],
}
_ERROR = {"event": "error", "error_type": "ProviderUnavailableError", "message": "anthropic cannot be reached: ..."}


def markdown(arguments: list[str], lines: list[str]) -> str:
    """A heading for each event with what it is for and lines as they are printed; fails if one is missing."""
    pieces = []
    for event in get_args(TurnEvent):
        documents = [sample.to_dict() for sample in _SAMPLES[event]]
        pieces += _section(documents, f"{docstring(event)} In Python: {code(event.__name__)}.")
    pieces += _section(
        [_ERROR], "The turn failed: always the last event, in place of `turn_finished`. In Python it is raised."
    )
    return "\n".join(pieces)


def _section(documents: list[dict[str, Any]], meaning: str) -> list[str]:
    printed = "\n".join(json.dumps(document, ensure_ascii=False) for document in documents)
    return [f"### {documents[0]['event']}\n", meaning + "\n", f"```json\n{printed}\n```\n"]
