from collections.abc import Iterator, Mapping
from typing import Any

import acme_otel
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode
from pytest_oneclaw import HomeFactory, HomeUnderTest

from oneclaw_core import TokenUsage, ToolRegistrar, ToolResult, hookimpl, tool
from oneclaw_core.providers import ModelResponse, ProviderRequestError

USAGE = TokenUsage(input_tokens=120, cached_input_tokens=100, output_tokens=7, reasoning_tokens=3)


@tool
async def measured(outcome: str) -> str | ToolResult:
    """Make a span within the tool, and end in a way."""
    with trace.get_tracer("test").start_as_current_span("inner"):
        if outcome == "raises":
            raise ValueError("it broke")
    return ToolResult.error("no_luck", "try again") if outcome == "fails" else "done"


@tool
def in_a_thread() -> str:
    """Make a span in a function that is not async."""
    with trace.get_tracer("test").start_as_current_span("inner"):
        return "done"


class Tools:
    """A plugin with the tools of this test."""

    __name__ = "tools"

    @hookimpl
    def register_tools(self, register: ToolRegistrar) -> None:
        register(measured)
        register(in_a_thread)


@pytest.fixture(scope="session")
def memory() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def exporter(memory: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    monkeypatch.delenv("OTEL_SEMCONV_STABILITY_OPT_IN", raising=False)
    memory.clear()
    yield memory
    memory.clear()


@pytest.fixture
def home(oneclaw_factory: HomeFactory) -> HomeUnderTest:
    return oneclaw_factory([acme_otel, Tools()])


def spans_of(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    """Return the finished spans by name; of several with one name, the last."""
    return {span.name: span for span in exporter.get_finished_spans()}


def attributes_of(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def context_of(span: ReadableSpan) -> SpanContext:
    context = span.get_span_context()
    assert context is not None
    return context


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    return span.parent is not None and span.parent.span_id == context_of(parent).span_id


def answer(text: str) -> ModelResponse:
    return ModelResponse(text=text, usage=USAGE)


@pytest.mark.parametrize(("name", "arguments"), [("measured", {"outcome": "succeeds"}), ("in_a_thread", {})])
def test_spans_of_a_turn_are_nested(
    home: HomeUnderTest, exporter: InMemorySpanExporter, name: str, arguments: dict[str, str]
) -> None:
    home.model.calls(name, arguments).then("Done.")
    home.send("Do it.")
    spans = spans_of(exporter)
    turn = spans["invoke_agent General Assistant"]
    assert turn.parent is None
    assert is_child(spans["chat model"], turn)
    assert is_child(spans[f"execute_tool {name}"], turn)
    assert is_child(spans["inner"], spans[f"execute_tool {name}"])
    assert len({context_of(span).trace_id for span in spans.values()}) == 1
    assert len(exporter.get_finished_spans()) == 5
    conversations = {attributes_of(span).get("gen_ai.conversation.id") for span in spans.values() if span is not None}
    assert len(conversations - {None}) == 1


def test_a_call_outside_a_turn_has_a_span(home: HomeUnderTest, exporter: InMemorySpanExporter) -> None:
    home.call_tool("measured", outcome="succeeds")
    span = spans_of(exporter)["execute_tool measured"]
    assert span.parent is None
    assert span.kind is SpanKind.INTERNAL
    attributes = dict(attributes_of(span))
    assert attributes.pop("gen_ai.tool.call.id")
    assert attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "measured",
        "gen_ai.tool.type": "function",
    }


def test_the_names_of_version_1_36_are_the_default(home: HomeUnderTest, exporter: InMemorySpanExporter) -> None:
    home.model.then(lambda request: answer("Hello."))
    home.send("Hello.")
    span = spans_of(exporter)["chat model"]
    assert span.kind is SpanKind.CLIENT
    attributes = dict(attributes_of(span))
    assert attributes.pop("gen_ai.conversation.id")
    assert attributes == {
        "gen_ai.operation.name": "chat",
        "gen_ai.system": "scripted",
        "gen_ai.request.model": "model",
        "gen_ai.response.finish_reasons": ("complete",),
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
    }


def test_the_latest_names_are_used_if_wanted(
    home: HomeUnderTest, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", "http,gen_ai_latest_experimental")
    home.model.then(lambda request: answer("Hello."))
    home.send("Hello.")
    attributes = attributes_of(spans_of(exporter)["chat model"])
    assert attributes["gen_ai.provider.name"] == "scripted"
    assert attributes["gen_ai.usage.cache_read.input_tokens"] == 100
    assert attributes["gen_ai.usage.reasoning.output_tokens"] == 3
    assert "gen_ai.system" not in attributes


@pytest.mark.parametrize(("outcome", "error_type"), [("fails", "no_luck"), ("raises", "execution_error")])
def test_a_failed_call_is_marked(
    home: HomeUnderTest, exporter: InMemorySpanExporter, outcome: str, error_type: str
) -> None:
    home.call_tool("measured", outcome=outcome)
    span = spans_of(exporter)["execute_tool measured"]
    assert span.status.status_code is StatusCode.ERROR
    assert attributes_of(span)["error.type"] == error_type


def test_a_failed_model_request_and_its_turn_are_marked(home: HomeUnderTest, exporter: InMemorySpanExporter) -> None:
    home.model.fails(ProviderRequestError("the service is gone"))
    with pytest.raises(Exception, match="the service is gone"):
        home.send("Hello.")
    spans = spans_of(exporter)
    for name in ("chat model", "invoke_agent General Assistant"):
        assert spans[name].status.status_code is StatusCode.ERROR
        assert attributes_of(spans[name])["error.type"]


def test_nothing_breaks_without_a_tracer_provider(home: HomeUnderTest) -> None:
    assert home.call_tool("in_a_thread").result == "done"
