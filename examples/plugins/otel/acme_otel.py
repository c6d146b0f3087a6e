"""OpenTelemetry spans for OneClaw's turns, model requests and tool calls.

The names are those of version 1.36.0 of the semantic conventions for generative AI. With
``OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental`` they are those of
open-telemetry/semantic-conventions-genai at commit b944970. The program sets the tracer provider, not this plugin.
"""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode

from oneclaw_core import ModelAnswer, ModelWork, ToolWork, TurnWork, Work, hookimpl

OPERATION, CONVERSATION, AGENT = "gen_ai.operation.name", "gen_ai.conversation.id", "gen_ai.agent.name"
PROVIDER, OLD_PROVIDER, REQUEST_MODEL = "gen_ai.provider.name", "gen_ai.system", "gen_ai.request.model"
TOOL, CALL_ID, TOOL_TYPE = "gen_ai.tool.name", "gen_ai.tool.call.id", "gen_ai.tool.type"
FINISH_REASONS, ERROR_TYPE = "gen_ai.response.finish_reasons", "error.type"
USAGE = {"gen_ai.usage.input_tokens": "input_tokens", "gen_ai.usage.output_tokens": "output_tokens"}
LATEST_USAGE = USAGE | {
    "gen_ai.usage.cache_read.input_tokens": "cached_input_tokens",
    "gen_ai.usage.cache_write.input_tokens": "cache_write_tokens",
    "gen_ai.usage.reasoning.output_tokens": "reasoning_tokens",
}
PROVIDER_NAMES = {"gemini": "gcp.gemini"}  # the others have OneClaw's names


@hookimpl
def around(work: Work) -> AbstractContextManager[None]:
    return _span(work)


@contextmanager
def _span(work: Work) -> Iterator[None]:
    is_latest = "gen_ai_latest_experimental" in os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",")
    turn = work.call.turn if isinstance(work, ToolWork) else work.turn
    attributes = {} if turn is None else {CONVERSATION: turn.session.id}
    kind = SpanKind.INTERNAL
    if isinstance(work, TurnWork):
        operation, subject = "invoke_agent", work.turn.agent
        attributes[AGENT] = subject
    elif isinstance(work, ToolWork):
        operation, subject = "execute_tool", work.call.tool
        attributes |= {TOOL: subject, CALL_ID: work.call.id, TOOL_TYPE: "function"}
    else:
        operation, subject, kind = "chat", work.request.request.model, SpanKind.CLIENT
        service = PROVIDER_NAMES.get(work.request.provider_type, work.request.provider_type)
        attributes |= {REQUEST_MODEL: subject, PROVIDER if is_latest else OLD_PROVIDER: service}
    attributes[OPERATION] = operation
    tracer = trace.get_tracer(__name__)
    with tracer.start_as_current_span(f"{operation} {subject}", kind=kind, attributes=attributes) as span:
        try:
            yield
        except BaseException as error:
            span.set_attribute(ERROR_TYPE, type(error).__name__)
            raise
        if isinstance(work, TurnWork) and work.outcome is not None and work.outcome.error is not None:
            _fail(span, None, work.outcome.error)
        elif isinstance(work, ToolWork) and work.result is not None and not work.result.is_success:
            _fail(span, work.result.error_type, None)  # the message has not been through a redactor
        elif isinstance(work, ModelWork) and work.answer is not None:
            _add_answer(span, work.answer, LATEST_USAGE if is_latest else USAGE)


def _add_answer(span: Span, answer: ModelAnswer, usage: dict[str, str]) -> None:
    if answer.response is None:
        _fail(span, answer.error_type, answer.error)
        return
    tokens = {name: getattr(answer.response.usage, field) for name, field in usage.items()}
    known = {name: count for name, count in tokens.items() if count is not None}
    span.set_attributes({FINISH_REASONS: [str(answer.response.stop_reason)]} | known)


def _fail(span: Span, error_type: str | None, message: str | None) -> None:
    span.set_attribute(ERROR_TYPE, error_type or "_OTHER")
    span.set_status(StatusCode.ERROR, message)
