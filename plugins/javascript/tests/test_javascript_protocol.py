"""What a worker says is not believed: one that was taken over by its program may say anything."""

import asyncio
import errno
import json
import os
import sys

import pytest
from how_long import some
from oneclaw_javascript import running
from oneclaw_javascript.bridges import JavaScriptBridges
from oneclaw_javascript.errors import JavaScriptError
from oneclaw_javascript.protocol import (
    Checked,
    Failed,
    ProtocolError,
    Ready,
    Request,
    Returned,
    Stalled,
    parse_message,
)
from oneclaw_javascript.result import ConsoleLine
from oneclaw_javascript.running import run_javascript
from worker_processes import started

from oneclaw_core.process.sandbox.landlock import landlock_version

pytestmark = pytest.mark.every_python

__all__ = ["started"]  # a fixture

FAILURE = {
    "type": "failure",
    "name": "E",
    "message": "m",
    "stack": "s",
    "libraries": ["a"],
    "is_parsed": True,
    "has_columns": False,
}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"type": "ready"}, Ready()),
        ({"type": "console", "level": "warn", "text": "t"}, ConsoleLine("warn", "t")),
        ({"type": "result", "json": "[1]"}, Returned([1], "[1]")),
        ({"type": "checked", "is_defined": True}, Checked(True)),
        ({"type": "stalled"}, Stalled()),
        (FAILURE, Failed("E", "m", "s", ("a",), True, False)),
    ],
)
def test_messages_are_read(message, expected):
    assert parse_message(json.dumps(message).encode()) == expected


def test_a_request_is_read_with_its_size():
    data = json.dumps({"type": "request", "id": 7, "name": "fetch", "arguments": {"url": "u"}}).encode()
    assert parse_message(data) == Request(7, "fetch", {"url": "u"}, len(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xff",
        b"[]",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"type":"result","json":NaN}',
        json.dumps({"type": "result", "json": "NaN"}).encode(),
        json.dumps({"type": "result", "json": "1" * 10_000}).encode(),
        json.dumps({"type": "result", "json": "[" * 100_000}).encode(),
        json.dumps({"type": "result", "json": 5}).encode(),
        json.dumps({"type": "result"}).encode(),
        json.dumps({"type": "console", "level": "shout", "text": ""}).encode(),
        json.dumps({"type": "console", "level": "log", "text": None}).encode(),
        json.dumps({"type": "request", "id": 0, "name": "fetch", "arguments": {}}).encode(),
        json.dumps({"type": "request", "id": True, "name": "fetch", "arguments": {}}).encode(),
        json.dumps({"type": "request", "id": 2**31, "name": "fetch", "arguments": {}}).encode(),
        json.dumps({"type": "request", "id": 1, "name": "__class__", "arguments": {}}).encode(),
        json.dumps({"type": "request", "id": 1, "name": "fetch", "arguments": []}).encode(),
        json.dumps({"type": "checked", "is_defined": 1}).encode(),
        json.dumps(FAILURE | {"libraries": [1]}).encode(),
        json.dumps(FAILURE | {"stack": 1}).encode(),
        json.dumps({"type": ["result"]}).encode(),
        json.dumps({"type": "surprise"}).encode(),
    ],
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ProtocolError):
        parse_message(data)


IMPORTS = "import ctypes, json, os, socket, subprocess, sys"
PROGRAM = """
def say(message, length=None):
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    data = (len(data) if length is None else length).to_bytes(4, "big") + data
    while data:
        data = data[os.write(1, data):]
def request(number, name="fs.exists", **arguments):
    say({"type": "request", "id": number, "name": name, "arguments": arguments})
READY = {"type": "ready"}
RESULT = {"type": "result", "json": "1"}
"""


@pytest.fixture
def answer_of(tmp_path, monkeypatch):
    """What a call comes to whose worker is another program."""

    def answer_of(program, **arguments):
        lines = (PROGRAM + program).splitlines()
        (tmp_path / "worker.py").write_text("\n    ".join([f"{IMPORTS}\ndef main():", *lines]))
        monkeypatch.setattr(running, "_HERE", str(tmp_path))
        return asyncio.run(run_javascript("1", **arguments))

    return answer_of


ESCAPES = """
secret, caller = SECRET
def outcome(attempt):
    try:
        attempt()
    except OSError as error:
        return error.errno
    return "done"
def fork():
    if os.fork() == 0:
        os._exit(0)
found = {
    "read a key": outcome(lambda: open(secret).read()),
    "list a folder": outcome(lambda: os.listdir("/")),
    "read the environment of the program": outcome(lambda: open(f"/proc/{caller}/environ").read()),
    "write a file": outcome(lambda: open(secret + ".new", "w")),
    "connect": outcome(lambda: socket.socket()),
    "connect on the machine": outcome(lambda: socket.socket(socket.AF_UNIX)),
    "fork": outcome(fork),
    "run a program": outcome(lambda: os.execv("/bin/true", ["true"])),
    "signal the program": outcome(lambda: os.kill(caller, 0)),
}
found["be read by others"] = ctypes.CDLL(None).prctl(3, 0, 0, 0, 0)
say(READY); say({"type": "result", "json": json.dumps(found)})
"""


@pytest.mark.skipif(sys.platform != "linux" or landlock_version() < 6, reason="this kernel does not confine processes")
def test_a_worker_that_is_taken_over_cannot_get_out(answer_of, tmp_path):
    """As if a hole in the engine let a program run any code."""
    secret = tmp_path / "id_ed25519"
    secret.write_text("canary")

    found = answer_of(ESCAPES.replace("SECRET", repr((str(secret), os.getpid()))), timeout_seconds=60).value

    assert found.pop("be read by others") == 0
    assert set(found.values()) <= {errno.EACCES, errno.EPERM}, found


def nothing(arguments):
    raise AssertionError("the bridge was called")


def test_the_stand_in_works(answer_of):
    assert answer_of("say(READY); say(RESULT)").value == 1


@pytest.mark.one_python
@pytest.mark.parametrize(
    "program",
    some(
        [
            "os.write(1, b'Segmentation fault, core dumped: what a pity')",
            "say(RESULT)",
            "say(b'', length=2**32 - 1)",
            "say(READY); say(b'x', length=17 * 1024 * 1024)",
            "say(READY); say(READY)",
            "say(READY); say(b'{}')",
            "say(READY); say(b'not json')",
            "say(READY); request(1); request(1)",
            "say(READY); say({'type': 'request', 'id': 1, 'name': 'os.system', 'arguments': {}})",
            "say(READY)\nwhile True: say({'type': 'console', 'level': 'log', 'text': 'x' * 1000})",
            "say(READY)\nwhile True: say({'type': 'console', 'level': 'log', 'text': ''})",
        ],
        5,
    ),
)
def test_nonsense_is_told_and_the_worker_ended(program, answer_of, started):
    with pytest.raises(JavaScriptError, match="answered nonsense, and was ended"):
        answer_of(program + "\nsys.stdin.read()")
    assert started[0].returncode is not None


@pytest.mark.parametrize(
    ("program", "ending"),
    [
        ("", "ended with exit status 0"),
        ("say(READY)", "ended with exit status 0"),
        ("say(READY); sys.exit(3)", "ended with exit status 3"),
        ("say(READY); os.write(1, b'\\0\\0'); os.abort()", "was ended by signal SIGABRT"),
    ],
)
def test_an_early_end_is_told(program, ending, answer_of):
    with pytest.raises(JavaScriptError, match=f"the process that ran the code {ending} before the code had finished"):
        answer_of(program)


def test_silence_is_ended(answer_of, started):
    with pytest.raises(JavaScriptError, match=r"stopped after 0\.2 s"):
        answer_of("say(READY); sys.stdin.read()", timeout_seconds=0.2)
    assert started[0].returncode is not None


def test_a_worker_that_does_not_start_is_ended(answer_of, started, monkeypatch):
    monkeypatch.setattr(running, "_START_SECONDS", 0.2)
    with pytest.raises(JavaScriptError, match="did not start in time"):
        answer_of("sys.stdin.read()")
    assert started[0].returncode is not None


@pytest.mark.long
def test_requests_without_number_are_stopped(answer_of):
    async def wait(_):
        await asyncio.Event().wait()

    bridges = JavaScriptBridges({"fs.exists": wait})
    with pytest.raises(JavaScriptError, match="answered nonsense"):
        answer_of("say(READY)\nfor n in range(1, 10**6): request(n)", bridges=bridges)


@pytest.mark.one_python
def test_requests_without_measure_are_stopped(answer_of):
    async def wait(_):
        await asyncio.Event().wait()

    bridges = JavaScriptBridges({"fs.exists": wait})
    with pytest.raises(JavaScriptError, match="answered nonsense"):
        answer_of("say(READY)\nfor n in range(1, 20): request(n, path='x' * 3 * 10**6)", bridges=bridges)


def test_a_bridge_that_was_not_offered_is_not_called(answer_of):
    program = """
say(READY); request(1, 'fs.writeFile', path='p', content='c')
while b'cannot be used here' not in os.read(0, 65536): pass
say(RESULT)
"""
    assert answer_of(program, bridges=JavaScriptBridges({"fs.exists": nothing})).value == 1


def test_bridges_of_unknown_names_are_a_mistake():
    with pytest.raises(ValueError, match=r"os\.system"):
        JavaScriptBridges({"os.system": nothing})


def test_a_bridge_that_breaks_does_not_break_the_program(caplog):
    async def broken(_):
        raise RuntimeError("secret detail")

    bridges = JavaScriptBridges({"fs.exists": broken})
    result = asyncio.run(run_javascript("try { fs.exists('x') } catch (e) { e.message }", bridges=bridges))
    assert result.text == "fs.exists failed; the reason stands in OneClaw's log"
    assert "secret detail" in caplog.text


@pytest.mark.long
def test_a_bridge_that_returns_no_json_does_not_break_the_program(caplog):
    async def odd(_):
        return object()

    bridges = JavaScriptBridges({"fs.exists": odd})
    result = asyncio.run(run_javascript("try { fs.exists('x') } catch (e) { e.message }", bridges=bridges))
    assert "failed" in result.text
    assert "not JSON serializable" in caplog.text
