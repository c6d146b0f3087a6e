"""What a model service can do wrong, for every wire format: the written list, as data.

Each entry is what the service sends in place of an answer, and how a turn may end that is answered so. The tests are in
``test_misbehaving_services.py``.
"""

from __future__ import annotations

import copy
import gzip
import json
import zlib
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from misbehaving_server import Hold, KeepOpen, Pause, Reset, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from model_server import Reply
    from wire_formats import WireFormat

KEY = "sk-canary-5b1e77f0aa92c4"
# Characters of one to four bytes.
TEXT = "Grüße aus 世界 🦀, all of it"
GOOD_TEXT = "Good again."
CALL = ("get_current_time", {"timezone": "Asia/Tokyo"})
MEGABYTE = 1024 * 1024

STATUSES = (*range(400, 600), 100, 102, 199, 201, 202, 203, 204, 205, 206, 207, 226, 300, 301, 302, 303, 304, 305, 307)
STATUSES += (308, 399, 600, 700, 999)
WRONG_VALUES: tuple[Any, ...] = (None, True, 0, -1, 1.5, 2**70, "", "x", [], {}, [[]], {"a": 1}, ["x"], [None], "\x00")
DEEP = "[" * 3_000 + "]" * 3_000


class Ends(Enum):
    """How a turn may end."""

    ANSWER = auto()
    ERROR = auto()
    EITHER = auto()
    #: With an error, or with the whole answer: never with a half.
    WHOLE = auto()


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """One thing that a service does wrong.

    Attributes:
        name: of letters, digits and hyphens.
        steps: what it sends to each request.
        ends: how the turn may end.
        says: a word that an error has to contain.
    """

    name: str
    steps: Callable[[], Iterable[Step]]
    ends: Ends = Ends.EITHER
    says: str = ""


def head(status: int | str = 200, content_type: str | None = "text/event-stream", **more: str) -> bytes:
    """A status line and headers; without a length, the body ends with the connection."""
    line = f"{status} Whatever" if isinstance(status, int) else status
    named = {"Content-Type": content_type, "Connection": "close"}
    named |= {name.replace("_", "-"): value for name, value in more.items()}
    lines = [f"{name}: {value}" for name, value in named.items() if value is not None]
    return "\r\n".join([f"HTTP/1.1 {line}", *lines, "", ""]).encode("latin-1")


def sized(body: bytes, status: int | str = 200, content_type: str | None = "text/event-stream", **more: str) -> bytes:
    """A whole answer with its length."""
    return head(status, content_type, Content_Length=str(len(body)), **more) + body


def good(wire: WireFormat) -> list[Step]:
    """What a service sends that does nothing wrong."""
    return [sized(body_of(wire.says(GOOD_TEXT)))]


def body_of(reply: Reply) -> bytes:
    """The whole body of a reply, its characters not escaped."""
    return written(events_of(reply))


def events_of(reply: Reply) -> list[Any]:
    """The events of a stream: JSON values, and texts for what is none."""
    lines = b"".join(reply.pieces).replace(b"REQUEST", b"1").decode().splitlines()
    texts = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [text if text == "[DONE]" else json.loads(text) for text in texts]


def written(events: Iterable[Any], *, end: str = "\n") -> bytes:
    """Events as they are sent."""
    return b"".join(one_written(event, end=end) for event in events)


def one_written(event: Any, *, end: str = "\n") -> bytes:
    text = event if isinstance(event, str) else json.dumps(event, ensure_ascii=False)
    kind = event.get("type") if isinstance(event, dict) else None
    named = f"event: {kind}{end}" if isinstance(kind, str) and kind.isprintable() else ""
    return f"{named}data: {text}{end}{end}".encode("utf-8", "surrogatepass")


def transport(wire: WireFormat) -> list[Misbehaviour]:
    """What is wrong with the response around the answer: headers, framing, encodings, and events that are none."""
    return [*_headers(wire), *_framing(wire), *_encodings(wire), *_values()]


def answers(wire: WireFormat) -> list[Misbehaviour]:
    """What is wrong with the events of an answer, and with what they mean."""
    return [*_events(wire), *_meanings(wire)]


def statuses(wire: WireFormat) -> list[Misbehaviour]:
    """Every status, each with another body; 200 with an error inside, too."""
    bodies = {
        "empty": (b"", None),
        "error": (json.dumps({"error": {"message": f"no {KEY} here", "type": "t", "code": "c"}}).encode(), "json"),
        "html": (b"<html><body>Bad Gateway " + KEY.encode() + b"</body></html>", "html"),
        "text": (b"upstream said: \x1b[31m" + KEY.encode() + b"\xff\xfe\r\nsecond line", "plain"),
        "list": (b'[{"error": {"message": ["no", {"text": 1}], "code": [], "type": {}, "status": 5}}]', "json"),
        "answer": (body_of(wire.says(TEXT)), "event-stream"),
        "huge": (b'{"error": {"message": "' + b"x" * (200 * 1024) + KEY.encode() + b'"}}', "json"),
        "odd": (b'{"error": {"message": "\\ud800\\u0000\\u001b[2J", "metadata": {"raw": [1]}}}', "json"),
        "deep": (DEEP.encode(), "json"),
    }
    found = []
    for place, status in enumerate(STATUSES):
        for name, (body, kind) in list(bodies.items())[place % 3 :: 3]:
            content_type = {None: None, "json": "application/json"}.get(kind, f"text/{kind}")
            sent = head(status, None) if 100 <= status < 200 else sized(body, status, content_type)
            # Some of these statuses say that all is well.
            is_answer = name == "answer" and 200 <= status < 300
            # What follows on an early hint is awaited, and never comes.
            found.append(_case(f"status-{status}-{name}", sent, ends=Ends.EITHER if is_answer else Ends.ERROR))
    return found


def cuts(wire: WireFormat, step: int) -> list[Misbehaviour]:
    """A connection that ends, or is reset, after so many bytes of an answer, and an answer that comes in pieces."""
    found = []
    for kind, reply in (("text", wire.says(TEXT)), ("call", wire.calls(CALL))):
        body = body_of(reply)
        for place in range(0, len(body), step):
            chunks = head(Transfer_Encoding="chunked") + b"%x\r\n%b" % (len(body), body[:place])
            ways: tuple[tuple[Step, ...], ...] = (
                (head() + body[:place],),
                (chunks,),
                (head() + body[:place], Pause(0.001), Reset()),
            )
            found.append(_case(f"{kind}-cut-{place}", *ways[place // step % 3], ends=Ends.WHOLE))
            pieces = (head() + body[:place], Pause(0.001), body[place:])
            found.append(_case(f"{kind}-split-{place}", *pieces, ends=Ends.ANSWER))
        single = [head(), *(body[place : place + 1] for place in range(len(body)))]
        found.append(_case(f"{kind}-in-single-bytes", *single, ends=Ends.ANSWER))
        status = sized(body)
        found += [
            _case(f"{kind}-cut-in-head-{place}", status[:place], ends=Ends.ERROR)
            for place in range(0, status.index(b"\r\n\r\n") + 4, step)
        ]
    return found


def wrong_fields(wire: WireFormat) -> list[Misbehaviour]:
    """Every field of every event with every wrong value, or gone, or twice."""
    found = []
    for kind, reply in (("text", wire.says(TEXT)), ("call", wire.calls(CALL))):
        events = events_of(reply)
        for place, event in enumerate(events):
            if not isinstance(event, dict):
                continue
            for number, path in enumerate(_paths(event)):
                for variant in range(len(WRONG_VALUES) + 1):
                    changed = _with(events, place, path, variant)
                    found.append(_case(f"{kind}-field-{place}-{number}-{variant}", sized(written(changed))))
    return found


def huge(wire: WireFormat) -> list[Misbehaviour]:
    """What takes much time or memory to read, or does so where it is read carelessly; made when it is sent."""
    name, _ = CALL

    def bomb(content: bytes, status: int = 200, content_type: str = "text/event-stream") -> bytes:
        return sized(gzip.compress(content, 1), status, content_type, Content_Encoding="gzip")

    def spaces() -> bytes:
        return b"data: " + b" " * (48 * MEGABYTE) + b"\n\n"

    def calls(*named: tuple[str, Any]) -> bytes:
        return sized(body_of(wire.calls(*named)))

    def many_comments() -> bytes:
        return sized(body_of(wire.says(TEXT)).replace(b"\n\n", b"\n\n" + b": hush\n\n" * 10_000))

    made: dict[str, tuple[Callable[[], bytes], Ends]] = {
        "gzip-bomb-of-one-event": (lambda: bomb(spaces()), Ends.ERROR),
        "gzip-bomb-of-comments": (lambda: bomb(b": hush\n" * (7 * MEGABYTE)), Ends.ERROR),
        "gzip-bomb-as-an-error": (lambda: bomb(spaces(), 400), Ends.ERROR),
        "gzip-bomb-as-json": (lambda: bomb(spaces(), 200, "application/json"), Ends.ERROR),
        "a-message-of-15-megabytes": (lambda: sized(body_of(wire.says("long " * (3 * MEGABYTE)))), Ends.ANSWER),
        "an-event-of-17-megabytes": (lambda: sized(b"data: " + b"x" * (17 * MEGABYTE) + b"\n\n"), Ends.ERROR),
        "half-a-million-lines-of-one-event": (lambda: sized(b"data: 1\n" * 500_000 + b"\n"), Ends.ERROR),
        "many-comments": (many_comments, Ends.ANSWER),
        "ids-of-a-megabyte": (lambda: sized(written(_with_ids(events_of(wire.calls(CALL)), "i" * MEGABYTE))), _ANY),
        "calls-with-a-name-of-a-megabyte": (lambda: calls(("n" * MEGABYTE, {})), _ANY),
        "calls-of-two-megabytes": (lambda: calls((name, {"timezone": "x" * (2 * MEGABYTE)})), _ANY),
        "calls-with-many-arguments": (lambda: calls((name, {f"k{number}": 1 for number in range(50_000)})), _ANY),
        "three-hundred-calls": (lambda: calls(*[CALL] * 300), _ANY),
    }

    def steps(make: Callable[[], bytes]) -> Callable[[], Iterable[Step]]:
        return lambda: [make()]

    return [Misbehaviour(key, steps(make), ends) for key, (make, ends) in made.items()]


def endless(wire: WireFormat) -> list[Misbehaviour]:
    """What never ends by itself: limits of its size or the deadline of the turn have to end it."""
    begun = events_of(wire.says(TEXT))
    body = written(begun)
    half = len(body) // 2
    delta = next(one_written(event) for event in begun if "Gr" in json.dumps(event, ensure_ascii=False))

    def forever(first: bytes, again: bytes, seconds: float = 0.0) -> Callable[[], Iterator[Step]]:
        def steps() -> Iterator[Step]:
            yield first
            while True:
                yield again
                if seconds:
                    yield Pause(seconds)

        return steps

    many = 64 * 1024
    return [
        Misbehaviour("silent-from-the-start", lambda: [Hold()], Ends.ERROR, "turn_deadline_seconds"),
        Misbehaviour("silent-in-the-status", lambda: [b"HTTP/1.1 20", Hold()], Ends.ERROR),
        Misbehaviour("silent-in-the-headers", lambda: [head()[:-2], Hold()], Ends.ERROR),
        Misbehaviour("silent-after-the-headers", lambda: [head(), Hold()], Ends.ERROR),
        Misbehaviour("silent-in-the-middle", lambda: [head() + body[:half], Hold()], Ends.ERROR),
        Misbehaviour("silent-in-an-error", lambda: [head(500, Content_Length="99") + b'{"err', Hold()], Ends.ERROR),
        Misbehaviour("silent-in-json", lambda: [head(200, "application/json") + b'{"a":', Hold()], Ends.ERROR),
        Misbehaviour("comments-forever", forever(head(), b": still here\n\n", 0.01), Ends.ERROR),
        Misbehaviour("comments-forever-fast", forever(head(), b": still here\n\n" * 999), Ends.ERROR),
        Misbehaviour("single-bytes-forever", forever(head() + b"data: ", b"x", 0.01), Ends.ERROR),
        Misbehaviour("one-line-forever", forever(head() + b"data: ", b"x" * many), Ends.ERROR),
        Misbehaviour("empty-lines-forever", forever(head(), b"\n" * many), Ends.ERROR),
        Misbehaviour("data-lines-forever", forever(head(), b"data: x\n" * 999), Ends.ERROR),
        Misbehaviour("field-names-forever", forever(head(), b"x" * many), Ends.ERROR),
        Misbehaviour("text-forever", forever(head() + body[: len(body) // 3].rpartition(b"\n\n")[0] + b"\n\n", delta)),
        Misbehaviour("pings-forever", forever(head(), b'event: ping\ndata: {"type": "ping"}\n\n', 0.01), Ends.ERROR),
        Misbehaviour("headers-forever", forever(head()[:-2], b"X-More: 1\r\n", 0.005), Ends.ERROR),
        Misbehaviour("hints-forever", forever(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.005), Ends.ERROR),
        Misbehaviour("error-forever", forever(head(500, "application/json"), b"x" * many), Ends.ERROR),
        Misbehaviour("json-forever", forever(head(200, "application/json"), b" " * many), Ends.ERROR),
        Misbehaviour("chunks-forever", forever(head(Transfer_Encoding="chunked"), b"1\r\n\n\r\n"), Ends.ERROR),
    ]


def outlasting(wire: WireFormat) -> list[Misbehaviour]:
    """What does not end where it should: limits of its own end it, whatever the turn's deadline."""
    body = body_of(wire.says(TEXT))
    return [
        Misbehaviour("silent-after-the-end", lambda: [head() + body, Hold()], Ends.ANSWER),
        Misbehaviour("always-calls", lambda: [sized(body_of(wire.calls(CALL)))], Ends.ERROR, "rounds"),
    ]


def _headers(wire: WireFormat) -> list[Misbehaviour]:
    body = body_of(wire.says(TEXT))
    types = ("text/html", "text/html; charset=utf-8", "text/plain", "application/octet-stream", "image/png", "", "/;=")
    types += ("text/event-stream; charset=utf-16", "text/event-stream; charset=no-such", "TEXT/EVENT-STREAM", "é")
    found = [_case(f"type-{place}", sized(body, 200, value)) for place, value in enumerate(types)]
    elsewhere = {"Location": "http://169.254.169.254/latest/meta-data"}
    return [
        *found,
        _case("no-type", sized(body, 200, None)),
        _case("json-type-for-a-stream", sized(body, 200, "application/json"), ends=Ends.ANSWER),
        _case("redirect-elsewhere", sized(b"", 302, **elsewhere), ends=Ends.ERROR, says="redirects"),
        _case("redirect-to-itself", sized(b"", 307, Location="/"), ends=Ends.ERROR, says="redirects"),
        _case("redirect-to-nonsense", sized(b"", 301, Location="ÿ://["), ends=Ends.ERROR),
        _case("ten-thousand-headers", head()[:-2] + b"X-A: b\r\n" * 10000 + b"\r\n" + body),
        _case("a-header-of-a-megabyte", head(X_Long="x" * MEGABYTE) + body),
        _case("a-header-with-nul", head()[:-2] + b"X-A: a\x00b\r\n\r\n" + body),
        _case("a-header-folded", head()[:-2] + b"X-A: a\r\n  b\r\n\r\n" + body),
        _case("a-header-without-colon", head()[:-2] + b"nonsense\r\n\r\n" + body),
        _case("retry-never", sized(b"", 429, Retry_After="999999999999999999999"), ends=Ends.ERROR, says="again"),
        _case("retry-in-the-past", sized(b"", 503, Retry_After="Thu, 01 Jan 1970 00:00:00 GMT"), ends=Ends.ERROR),
        _case("retry-nonsense", sized(b"", 429, Retry_After="soon; very"), ends=Ends.ERROR),
        _case("retry-nan", sized(b"", 429, Retry_After="nan"), ends=Ends.ERROR),
        _case("retry-negative", sized(b"", 429, Retry_After="-5", **{"retry-after-ms": "-1"}), ends=Ends.ERROR),
        _case("key-in-a-header", sized(b"", 401, X_Key=KEY), ends=Ends.ERROR),
        _case("cookie", sized(body, 200, Set_Cookie="a=b; Max-Age=999999999"), ends=Ends.ANSWER),
    ]


def _framing(wire: WireFormat) -> list[Misbehaviour]:
    body = body_of(wire.says(TEXT))
    chunked = head(Transfer_Encoding="chunked")
    whole_chunk = b"%x\r\n%b\r\n" % (len(body), body)
    return [
        _case("nothing-at-all", ends=Ends.ERROR),
        _case("reset-at-once", Reset(), ends=Ends.ERROR),
        _case("no-http", b"SSH-2.0-OpenSSH_9.6\r\n", ends=Ends.ERROR),
        _case("http-0-9", body, ends=Ends.ERROR),
        _case("http-2", b"\x00\x00\x12\x04\x00\x00\x00\x00\x00" + b"\x00" * 18, ends=Ends.ERROR),
        _case("tls-alert", b"\x15\x03\x01\x00\x02\x02\x46", ends=Ends.ERROR),
        _case("status-of-words", head("OK fine") + body, ends=Ends.ERROR),
        _case("status-of-four-digits", head("2000 OK") + body, ends=Ends.ERROR),
        _case("zeros", b"\x00" * 5_000, ends=Ends.ERROR),
        _case("hint-then-answer", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + sized(body), ends=Ends.ANSWER),
        _case("continue-then-nothing", b"HTTP/1.1 100 Continue\r\n\r\n", ends=Ends.ERROR),
        _case("switching-protocols", b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n" + body, ends=Ends.ERROR),
        _case("length-too-long", head(Content_Length=str(len(body) + 9)) + body, ends=Ends.WHOLE),
        _case("length-too-short", head(Content_Length=str(len(body) // 2)) + body, ends=Ends.WHOLE),
        _case("length-of-zero", head(Content_Length="0") + body, ends=Ends.ERROR),
        _case("length-negative", head(Content_Length="-1") + body),
        _case("length-of-words", head(Content_Length="many") + body),
        _case("length-huge", head(Content_Length="9" * 30) + body, ends=Ends.WHOLE),
        _case("two-lengths", head(Content_Length="5")[:-2] + b"Content-Length: 7\r\n\r\n" + body),
        _case("length-and-chunks", head(Content_Length="5", Transfer_Encoding="chunked") + whole_chunk + b"0\r\n\r\n"),
        _case("chunks-without-end", chunked + whole_chunk, ends=Ends.WHOLE),
        _case("chunk-size-of-words", chunked + b"zz\r\n" + body, ends=Ends.ERROR),
        _case("chunk-size-huge", chunked + b"f" * 40 + b"\r\n" + body, ends=Ends.WHOLE),
        _case("chunk-size-negative", chunked + b"-5\r\n" + body, ends=Ends.ERROR),
        _case("chunk-too-short", chunked + b"5\r\n" + body, ends=Ends.ERROR),
        _case("chunk-extensions", chunked + b"%x;a=b\r\n%b\r\n0\r\n\r\n" % (len(body), body), ends=Ends.ANSWER),
        _case("unknown-transfer-encoding", head(Transfer_Encoding="rot13") + body),
        _case("more-after-the-end", *_kept(sized(body) + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad")),
        _case("garbage-after-the-end", *_kept(sized(body) + b"\x00\xff garbage" * 50)),
    ]


def _kept(data: bytes) -> tuple[Step, ...]:
    return (data.replace(b"Connection: close\r\n", b""), KeepOpen())


def _encodings(wire: WireFormat) -> list[Misbehaviour]:
    body = body_of(wire.says(TEXT))
    return [
        _case("gzip-good", sized(gzip.compress(body), Content_Encoding="gzip"), ends=Ends.ANSWER),
        _case("gzip-and-is-not", sized(body, Content_Encoding="gzip"), ends=Ends.ERROR),
        _case("gzip-cut", sized(gzip.compress(body)[:-12], Content_Encoding="gzip")),
        _case("gzip-garbage-inside", sized(gzip.compress(body)[:40] + b"\xff" * 99, Content_Encoding="gzip")),
        _case("gzip-twice", sized(gzip.compress(gzip.compress(body)), Content_Encoding="gzip, gzip"), ends=Ends.ERROR),
        _case("deflate-good", sized(zlib.compress(body), Content_Encoding="deflate"), ends=Ends.ANSWER),
        _case("brotli", sized(body, Content_Encoding="br"), ends=Ends.ERROR),
        _case("zstd", sized(b"\x28\xb5\x2f\xfd" + body, Content_Encoding="zstd"), ends=Ends.ERROR),
        _case("unknown-encoding", sized(body, Content_Encoding="x-" + "y" * 999), ends=Ends.ERROR),
        _case("byte-order-mark", sized(b"\xef\xbb\xbf" + body), ends=Ends.ANSWER),
        _case("utf-16", sized(body.decode().encode("utf-16")), ends=Ends.ERROR),
        _case("latin-1", sized(body.replace("ü".encode(), b"\xfc")), ends=Ends.ANSWER),
        _case("invalid-utf-8-in-keys", sized(body.replace(b'"t', b'"\xfft'))),
        _case("invalid-utf-8-everywhere", sized(bytes(byte if byte < 128 else 255 for byte in body)), ends=Ends.ANSWER),
        _case("random-bytes", sized(bytes((place * 151 + place // 7) % 256 for place in range(20_000)))),
        _case("nul-bytes", sized(body.replace(b"all", b"\x00\x01\x1b"))),
    ]


def _events(wire: WireFormat) -> list[Misbehaviour]:
    found = []
    for kind, reply in (("text", wire.says(TEXT)), ("call", wire.calls(CALL))):
        events = events_of(reply)
        body = written(events)
        many = range(len(events))
        swapped = [[*events[:at], *events[at : at + 2][::-1], *events[at + 2 :]] for at in many[:-1]]
        odd = [{"type": "response.unheard_of", "x": 1}, {"object": "odd"}, {"type": 5}, {}, {"type": ["a"]}]
        between = [each for event in events for each in (*odd, event)]
        found += [
            *(_case(f"{kind}-without-{at}", sized(written([*events[:at], *events[at + 1 :]]))) for at in many),
            *(_case(f"{kind}-twice-{at}", sized(written([*events[: at + 1], *events[at:]]))) for at in many),
            *(_case(f"{kind}-swapped-{at}", sized(written(each))) for at, each in enumerate(swapped)),
            _case(f"{kind}-all-twice", sized(written([*events, *events]))),
            _case(f"{kind}-each-twice", sized(written([each for event in events for each in (event, event)]))),
            _case(f"{kind}-backwards", sized(written(events[::-1]))),
            _case(f"{kind}-with-unknown-events", sized(written(between))),
            _case(f"{kind}-with-comments", sized(body.replace(b"data:", b": hush\nid: 7\nretry: x\ndata:")), ends=_OK),
            _case(f"{kind}-carriage-returns", sized(written(events, end="\r")), ends=_OK),
            _case(f"{kind}-both-line-ends", sized(written(events, end="\r\n")), ends=_OK),
            _case(f"{kind}-without-spaces", sized(body.replace(b"data: ", b"data:")), ends=_OK),
            _case(f"{kind}-wrong-event-names", sized(body.replace(b"event: ", b"event: not-")), ends=_OK),
            _case(f"{kind}-no-blank-lines", sized(body.replace(b"\n\n", b"\n")), ends=_OK),
            _case(f"{kind}-in-several-data-lines", sized(_on_several_lines(events)), ends=_OK),
            _case(
                f"{kind}-array-of-events",
                sized(json.dumps([e for e in events if e != "[DONE]"]).encode(), 200, "application/json"),
            ),
            _case(f"{kind}-as-json-lines", sized(b"\n".join(json.dumps(event).encode() for event in events))),
            _case(f"{kind}-then-an-error", sized(body[: len(body) // 2].rpartition(b"\n\n")[0] + b"\n\n" + _ERROR)),
            _case(f"{kind}-then-nonsense", sized(body[: len(body) // 2].rpartition(b"\n\n")[0] + b"\n\ndata: {\n\n")),
            _case(f"{kind}-without-any-deltas", sized(written(_without_deltas(events)))),
            _case(f"{kind}-error-after-the-end", sized(body + _ERROR)),
        ]
    return found


def _values() -> list[Misbehaviour]:
    """JSON that is not an event of any format, and what is not JSON."""
    found = []
    values = (
        "null",
        "true",
        "5",
        '"text"',
        "[]",
        "{}",
        "[1]",
        DEEP,
        '{"a":' * 500 + "1" + "}" * 500,
        "NaN",
        "{'a': 1}",
    )
    values += ("1" * 6_000, '{"error": null}', '{"error": []}', '{"error": "odd"}', '{"error": 5}', '{"error": {}}')
    values += ('{"error": {"message": {}}}', '{"error": {"code": 1e400}}', '{"error": {"code": 99999999999999999999}}')
    values += ('{"error": {"code": 429, "message": "' + KEY + '"}}', '{"error": {"code": true, "type": null}}')
    for place, value in enumerate(values):
        found.append(_case(f"event-{place}", sized(f"data: {value}\n\n".encode()), ends=Ends.ERROR))
        found.append(_case(f"json-{place}", sized(value.encode(), 200, "application/json")))
    found += [
        _case("done-alone", sized(b"data: [DONE]\n\n")),
        _case("empty-stream", sized(b""), ends=Ends.ERROR),
        _case("empty-json", sized(b"", 200, "application/json"), ends=Ends.ERROR),
        _case("data-without-anything", sized(b"data\n\ndata:\n\n" * 50), ends=Ends.ERROR),
        _case("a-thousand-empty-objects", sized(b"data: {}\n\n" * 1_000), ends=Ends.ERROR),
    ]
    return found


def strange_calls(wire: WireFormat) -> list[Misbehaviour]:
    """Calls that are well-formed in a stream, of tools and with arguments that make no sense."""
    name, _arguments = CALL
    calls: dict[str, tuple[tuple[str, Any], ...]] = {
        "unknown-tool": (("no_such_tool", {}),),
        "no-name": (("", {}),),
        "odd-name": (("../..\x00\n\x1b[2J🦀", {}),),
        "name-of-a-group": (("pdf", {}),),
        "same-call-twice": (CALL, CALL),
        "no-json": ((name, '{"timezone": '),),
        "arguments-empty": ((name, ""),),
        "arguments-null": ((name, "null"),),
        "arguments-list": ((name, "[1]"),),
        "arguments-text": ((name, '"Asia/Tokyo"'),),
        "arguments-nan": ((name, '{"timezone": NaN}'),),
        "arguments-twice": ((name, '{"timezone": "UTC", "timezone": 5}'),),
        "arguments-deep": ((name, '{"timezone": ' + DEEP + "}"),),
        "arguments-less-deep": ((name, '{"timezone": ' + "[" * 400 + "]" * 400 + "}"),),
        "arguments-huge-number": ((name, '{"timezone": ' + "9" * 5_000 + "}"),),
        "arguments-surrogate": ((name, '{"timezone": "\\ud800"}'),),
        "arguments-nul": ((name, '{"timezone": "\\u0000"}'),),
        "arguments-unknown": ((name, {"no_such": 1, "__proto__": {}}),),
        "arguments-then-garbage": ((name, '{"timezone": "UTC"} and more'),),
    }
    return [_case(f"calls-{key}", sized(body_of(wire.calls(*each)))) for key, each in calls.items()]


def _meanings(wire: WireFormat) -> list[Misbehaviour]:
    """Streams that are well-formed, and say what makes no sense."""
    events = events_of(wire.calls(CALL, CALL))
    ids = {"empty": "", "same": "call_1", "long": "i" * 5_000, "odd": "\x00\n\x1b/../é🦀", "number": 5}
    ids |= {"list": [1], "null": None, "spaces": "  "}
    found = [_case(f"id-{key}", sized(written(_with_ids(events, value)))) for key, value in ids.items()]
    counts: tuple[Any, ...] = (-1, -(2**63), 2**63, 2**200, 1.5, "7", None, [], {}, True, float("nan"), float("inf"))
    found += [
        _case(f"counts-{place}", sized(written(_with_counts(events_of(wire.says(TEXT)), value))), ends=_OK)
        for place, value in enumerate(counts)
    ]
    found += [
        _case("says-nothing", sized(body_of(wire.says("")))),
        _case("says-nul", sized(body_of(wire.says("a\x00b\ud800c"))), ends=_OK),
        _case("says-controls", sized(body_of(wire.says("\x1b]0;title\x07\x1b[2J\u202e\u2028"))), ends=_OK),
    ]
    return found


_OK = Ends.ANSWER
_ANY = Ends.EITHER
_ERROR = b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "tired"}}\n\n'


def _case(name: str, *steps: Step, ends: Ends = Ends.EITHER, says: str = "") -> Misbehaviour:
    return Misbehaviour(name, lambda: steps, ends, says)


def _on_several_lines(events: list[Any]) -> bytes:
    texts = [each if isinstance(each, str) else json.dumps(each, indent=1, ensure_ascii=False) for each in events]
    return "".join("".join(f"data: {line}\n" for line in text.splitlines()) + "\n" for text in texts).encode()


def _without_deltas(events: list[Any]) -> list[Any]:
    """The same without its pieces, and with values of no use where texts begin."""

    def emptied(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: 5 if key in ("text", "content") and each == "" else emptied(each) for key, each in value.items()
            }
        return [emptied(each) for each in value] if isinstance(value, list) else value

    return [emptied(event) for event in events if "delta" not in str(event)[:60]]


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield (*path, key)
        yield from _paths(inner, (*path, key))


def _with(events: list[Any], place: int, path: tuple[Any, ...], variant: int) -> list[Any]:
    """The events with another value at a path, or without it."""
    changed = [*events[:place], copy.deepcopy(events[place]), *events[place + 1 :]]
    holder = changed[place]
    for key in path[:-1]:
        holder = holder[key]
    if variant < len(WRONG_VALUES):
        holder[path[-1]] = WRONG_VALUES[variant]
    else:
        del holder[path[-1]]
    return changed


def _with_ids(value: Any, given: Any) -> Any:
    """The same with another id for every call."""
    if isinstance(value, list):
        return [_with_ids(each, given) for each in value]
    if not isinstance(value, dict):
        return value
    is_call = bool({"call_id", "input", "function", "functionCall", "args"} & value.keys())
    inner = {key: _with_ids(each, given) for key, each in value.items()}
    changed = {key: given for key in ("id", "call_id") if key in inner} if is_call else {}
    return inner | changed | ({"id": given} if "args" in inner else {})


def _with_counts(value: Any, given: Any) -> Any:
    """The same with other token counts."""
    if isinstance(value, list):
        return [_with_counts(each, given) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        key: given if "token" in key.lower() and isinstance(each, int) else _with_counts(each, given)
        for key, each in value.items()
    }
