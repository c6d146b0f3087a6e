"""Bytes and texts that no one meant: what reads foreign formats gives a value or its own error, and nothing else.

Each property is tried with the number of examples that is named beside it, a hundred times as many with
``ONECLAW_TESTS_LONG=1``. In CI the examples are the same each time; elsewhere hypothesis draws them anew and prints how
a failure is repeated.
"""

import json
from contextlib import suppress
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from how_long import examples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from messages_stream import call as messages_call
from messages_stream import events as messages_events
from messages_stream import text as messages_text
from model_server import chunk
from oneclaw_anthropic.answer import MessagesAnswer
from oneclaw_gemini.answer import GeminiAnswer
from oneclaw_google_workspace.failures import GoogleError
from oneclaw_google_workspace.gmail.bodies import html_to_text
from oneclaw_google_workspace.gmail.mime import (
    addresses_in,
    decoded,
    decoded_text,
    file_name,
    moment,
    preview,
    readable,
    take_apart,
)
from oneclaw_google_workspace.sheets.book import format_reference, parse_reference
from oneclaw_http_providers.answer import AnswerCutError, AnswerFailedError, AnswerGarbledError
from oneclaw_http_providers.body_documents import BodyDocuments, BodyTooLargeError, BrokenDocumentError
from oneclaw_http_providers.retry import AttemptFailed
from oneclaw_openai.chat_answer import ChatAnswer
from oneclaw_openai.responses_answer import ResponsesAnswer
from oneclaw_pdf.errors import PdfProblem
from oneclaw_pdf.page_lists import format_page_list, parse_page_list
from oneclaw_scheduled_tasks.occurrences import Occurrences
from oneclaw_scheduled_tasks.schedules import read_schedule
from oneclaw_skills.format import parse_document
from responses_stream import call, message
from responses_stream import stream as responses_stream
from terminals import what_steers

from oneclaw_core.errors import OneClawError
from oneclaw_core.permissions import rules as permission_rules
from oneclaw_core.types.arguments import ArgumentsError, parse_arguments
from oneclaw_core.types.messages import ToolCall


def tried(few):
    """Try a property with a number of examples, however long each takes on a busy machine."""
    return settings(max_examples=examples(few), suppress_health_check=[HealthCheck.too_slow], deadline=None)


# Nothing else may come of a stream, however broken.
OWN_ERRORS = (AttemptFailed, AnswerCutError, AnswerFailedError, AnswerGarbledError, BodyTooLargeError, OneClawError)

CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "\u00e4"}'}}
GEMINI = [
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}}]},
    {
        "candidates": [
            {"content": {"parts": [{"text": "lo"}, {"functionCall": {"name": "find", "args": {"q": "\u00e4"}}}]}}
        ]
    },
    {"candidates": [{"finishReason": "STOP"}], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}},
]
ANSWERS = {
    "chat": (
        lambda: ChatAnswer("http://a"),
        [
            chunk({"content": "Hello"}),
            chunk({"tool_calls": [CALL]}),
            chunk({}, "tool_calls"),
            chunk(usage={"prompt_tokens": 1}),
        ],
    ),
    "responses": (
        lambda: ResponsesAnswer("http://a"),
        responses_stream(message("Hello"), call("find", {"q": "\u00e4"}, call_id="c1")),
    ),
    "messages": (
        lambda: MessagesAnswer("http://a", "claude-test"),
        messages_events(messages_text("Hello"), messages_call("find", {"q": "\u00e4"}), stop_reason="tool_use"),
    ),
    "gemini": (lambda: GeminiAnswer("http://a", "gemini"), GEMINI),
}
ODD_BYTES = st.sampled_from(
    [
        b"",
        b"\n",
        b"\n\n",
        b"\r",
        b"data: ",
        b"data:",
        b"event: error\n",
        b"[DONE]",
        b"\xff",
        b"\xc3",
        b"\0",
        b"null",
        b"-1",
        b"1e999",
        b"{",
        b"}",
        b"[",
        b'"',
        b"\\ud800",
        b"\xef\xbb\xbf",
        b"id: \0\n",
        b"retry: 9\n",
        b": x\n",
        b'"x"',
        b"[[]]",
    ]
)
# Where, how much goes, and what comes in its place.
WOUNDS = st.lists(st.tuples(st.floats(0, 1), st.integers(0, 12), ODD_BYTES), min_size=1, max_size=5)


def wounded(content, wounds):
    for place, length, odd in wounds:
        start = int(place * len(content))
        content = content[:start] + odd + content[start + length :]
    return content


def read(answer, content, size):
    """Read a stream as a provider does, and give the calls that come of it."""
    documents = BodyDocuments()
    with suppress(BrokenDocumentError):
        for start in range(0, len(content), size):
            for document in documents.feed(content[start : start + size]):
                if document.is_end:
                    return answer.response()
                if isinstance(document.value, dict) and not document.value.get("error"):
                    answer.add(document.value)
    return answer.response()


@tried(120)
@given(st.sampled_from(sorted(ANSWERS)), WOUNDS, st.integers(1, 200))
def test_a_wounded_stream_is_an_answer_or_an_error(kind, wounds, size):
    make, events = ANSWERS[kind]
    whole = b"".join(b"data: %s\n\n" % json.dumps(each, ensure_ascii=False).encode() for each in events)
    try:
        response = read(make(), wounded(whole, wounds), size)
    except OWN_ERRORS:
        return
    response.text.encode("utf-8", "surrogatepass")
    for each in response.tool_calls:
        assert isinstance(each, ToolCall)
        assert isinstance(each.name, str)
        assert isinstance(each.arguments, str)
    json.dumps(response.provider_data)


def test_the_streams_that_are_wounded_are_whole_before():
    for make, events in ANSWERS.values():
        whole = b"".join(b"data: %s\n\n" % json.dumps(each).encode() for each in events)
        response = read(make(), whole, 7)
        assert response.text == "Hello"
        assert [(each.name, json.loads(each.arguments)) for each in response.tool_calls] == [("find", {"q": "\u00e4"})]


JSON = st.deferred(
    lambda: (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.text(max_size=8)
        | st.lists(JSON, max_size=3)
        | st.dictionaries(st.text(max_size=8), JSON, max_size=3)
    )
)


@tried(150)
@given(st.one_of(JSON.map(json.dumps), st.text(alphabet='{}[]",:0123eE+-.truefalsn\\u \n\ud800', max_size=50)), WOUNDS)
@example("{" * 5000, [(0.0, 0, b"")])
def test_arguments_are_an_object_or_refused(text, wounds):
    written = wounded(text.encode("utf-8", "surrogatepass"), wounds).decode("utf-8", "replace")
    with suppress(ArgumentsError):
        assert isinstance(parse_arguments(written), dict)


@tried(150)
@given(st.text(alphabet="git *'\"\\;|&<>()$`#\n\t{}!~=\u00a0\u2028x-", max_size=20))
def test_what_a_pattern_covers_has_no_second_command(command):
    if permission_rules.covers("git *", command):
        assert command.strip(" \t").startswith("git")
        assert not set(command) & set(";|&<>()$`\n")


# MIME as Gmail hands it out: a tree of parts.
HEADERS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["Content-Type", "Content-Disposition", "Subject", "From", "X"]),
            "value": st.text(max_size=30)
            | st.sampled_from(
                [
                    "text/plain; charset=utf-7",
                    'text/html; charset="x"',
                    "attachment; filename=../../x",
                    "=?utf-8?b?//8=?=",
                    "=?x?q?=00?=",
                    "inline; filename*=utf-8''%2e%2e%2fx",
                    "a@b <c@d>, e@f",
                    "text/plain; charset=" + "x" * 200,
                ]
            ),
        }
    )
    | st.just({})
    | st.just({"name": None, "value": 3}),
    max_size=4,
)
BODIES = st.fixed_dictionaries(
    {},
    optional={
        "data": st.text(alphabet="ABCabc019-_=+/ \n", max_size=20),
        "size": st.integers(-1, 10**12) | st.none(),
        "attachmentId": st.text(max_size=5),
    },
)
KINDS = ["text/plain", "text/html", "image/png", "message/rfc822", "multipart/alternative", "", "x"]
LEAVES = st.fixed_dictionaries(
    {
        "mimeType": st.sampled_from(KINDS),
        "partId": st.text(max_size=3),
        "filename": st.text(max_size=20) | st.just(""),
        "headers": HEADERS,
        "body": BODIES,
    }
)
CONTAINERS = ["multipart/mixed", "multipart/alternative", "multipart/related", "message/rfc822"]
PARTS = st.deferred(
    lambda: (
        LEAVES
        | st.fixed_dictionaries(
            {
                "mimeType": st.sampled_from(CONTAINERS),
                "parts": st.lists(PARTS, max_size=3),
                "headers": HEADERS,
                "body": BODIES,
            }
        )
    )
)


@tried(60)
@given(PARTS, st.booleans())
def test_any_mail_can_be_taken_apart(payload, wants_html):
    parts = take_apart(payload, wants_html=wants_html)
    for each in parts.texts:
        with suppress(ValueError):  # it is not base64, and says so
            assert isinstance(decoded_text(decoded(each.data or ""), each.charset), str)
    for each in parts.attachments:
        assert "/" not in each.filename
        assert each.filename not in ("", ".", "..")
        assert what_steers(each.filename.encode()) == set()


@tried(100)
@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda content: content.decode("latin-1")))
def test_any_header_of_a_mail_can_be_read(value):
    assert "\n" not in readable(value)
    assert "\n" not in preview(value)
    addresses_in(value)
    moment(value)
    html_to_text(value)
    name = file_name(value, "text/plain", "1")
    assert "/" not in name
    assert "\0" not in name
    assert name not in ("", ".", "..")
    assert len(name.encode()) < 256


@tried(100)
@given(st.text(alphabet="0123456789,-\u2013\u2014 al\t\u0661\uff11x+", max_size=30), st.integers(1, 3_000))
def test_any_list_of_pages_is_pages_or_refused(text, count):
    try:
        pages = parse_page_list(text, count)
    except PdfProblem:
        return
    assert pages
    assert all(1 <= page <= count for page in pages)
    assert len(set(pages)) == len(pages)
    assert list(parse_page_list(format_page_list(pages), count)) == list(pages) or list(pages) != sorted(pages)


CRON_FIELDS = st.text(alphabet="0123456789*/,-?LWhrRH#@ ", max_size=6) | st.sampled_from(
    [
        "*",
        "*/0",
        "*/99999999999",
        "1-1",
        "59-0",
        "0-59/0",
        "L",
        "1W",
        "jan-dec",
        "sun#6",
        "r(0-5)",
        "h",
        "7",
        "31",
        "\u0661",
        "-1",
    ]
)


@tried(120)
@given(st.lists(CRON_FIELDS, min_size=1, max_size=7).map(" ".join) | st.text(max_size=40))
def test_any_cron_expression_is_one_or_refused_and_its_times_are_found(text):
    try:
        schedule = read_schedule({"schedule_type": "cron", "cron": text})
    except OneClawError:
        return
    assert len(schedule.cron.split()) in (5, 6)
    start = datetime(2026, 11, 21, tzinfo=UTC)
    found = Occurrences(schedule, ZoneInfo("Europe/Berlin"), start).next_after(start)
    assert found is None or found > start


@tried(80)
@given(
    st.builds(
        dict,
        schedule_type=st.sampled_from(["one_time", "daily", "weekly", "cron", "interval", "", "x"]) | st.none(),
        hour=st.none() | st.integers(),
        minute=st.none() | st.integers(),
        day_of_week=st.none() | st.text(max_size=8) | st.just("Monday"),
        date=st.none() | st.text(max_size=12) | st.just("2026-02-30"),
        cron=st.none() | st.text(max_size=12),
        interval_minutes=st.none() | st.integers(),
    )
)
def test_any_schedule_is_one_or_refused(words):
    with suppress(OneClawError):
        str(read_schedule(words))


@tried(150)
@given(st.text(alphabet="name: description-|>&*!{}[]'\"#%@\n\t ab\u00e9\u2028\x85---...", max_size=120))
def test_any_front_matter_is_a_skill_or_has_problems(text):
    for written in (f"---\n{text}\n---\nDo it.\n", f"---\nname: a\ndescription: b\n{text}\n---\nDo it.\n", text):
        document, problems = parse_document(written, "a")
        assert document is not None or any(each.is_error for each in problems)
        if document is not None:
            assert "\n" not in document.description


@tried(150)
@given(st.text(alphabet="ABZa1290$:!' \u00e9\u0661-\n", max_size=16))
@example("!A1")
def test_any_range_of_cells_is_one_or_refused(text):
    try:
        found = parse_reference(text)
    except (ValueError, GoogleError):
        return
    if found.name is None and found.tab is not None:
        assert parse_reference(format_reference(found.tab, found.area)) == found
