"""An isolated call in its own process and in this one: what is sent, and what comes back."""

import asyncio
import json
import pickle
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from oneclaw_core.errors import PermissionDeniedError, ToolDefinitionError
from oneclaw_core.files.paths import PathPermissionError
from oneclaw_core.files.views import FileViews
from oneclaw_core.process import isolated_call, isolation
from oneclaw_core.process.isolation import MAX_ANSWER_BYTES, WorkerError
from oneclaw_core.tools.invoke import FunctionTarget
from oneclaw_core.types.messages import Attachment
from oneclaw_core.types.provenance import FileState, Mark, MarkKind, UsedFile
from oneclaw_core.types.tools import FileChange, ToolResult, ToolResultStatus

TARGET = FunctionTarget("acme.tools", "run", "tool 'run'")


class Context:
    """The parts of a call's context that a worker has, and that the caller gets back."""

    def __init__(self):
        self.marks = []
        self.paths = SimpleNamespace(used=[], views=FileViews())


class Loaded:
    """A target whose function is at hand."""

    origin = "tool 'run'"

    def __init__(self, function):
        self._function = function

    def load(self):
        return self._function


def answer_of(monkeypatch, function, arguments=None, *, is_converted=True, context=None):
    """Have the worker's side answer, and the caller's side read it."""
    request = (Loaded(function), arguments or {}, context or Context(), is_converted)
    monkeypatch.setattr(isolated_call.pickle, "loads", lambda data: request)
    return json.loads(json.dumps(isolated_call._answer(b""), default=isolated_call._written))


def read(answer, returncode=0):
    caller = Context()
    text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    return isolation._result_of(text, returncode, TARGET, caller), caller


def test_a_result_comes_back_whole(monkeypatch):
    attachment = Attachment("a.png", "image/png", b"\x89PNG", is_for_user=True)
    changes = (FileChange("/a", None, "new"), FileChange("/b", "", "", is_whole=False))
    whole = ToolResult.success("text", (attachment,), loads_groups=("mail",), shown="for people", changes=changes)
    failed = ToolResult.error("not_found", "There is none.")
    for result in (whole, failed, ToolResult.success({"a": [1]})):
        answer = answer_of(monkeypatch, lambda result=result: result)
        assert read(answer)[0] == result


def test_what_a_call_read_and_fetched_comes_back(monkeypatch):
    context = Context()
    marks = (
        [Mark(MarkKind.WEB, "https://example.com")] if hasattr(MarkKind, "WEB") else [Mark(next(iter(MarkKind)), "x")]
    )
    used = [UsedFile(Path("/a"), "read", 17), UsedFile(Path("/b"), "read", 18, FileState("/b", 1, 2))]
    for function in (lambda: "fine", lambda: 1 / 0):
        context.marks, context.paths.used = list(marks), list(used)
        answer = answer_of(monkeypatch, function, context=context)
        caller = Context()
        with suppress(WorkerError):
            isolation._result_of(json.dumps(answer).encode(), 0, TARGET, caller)
        assert (caller.marks, caller.paths.used) == (marks, used)


def raising(error):
    def function():
        raise error

    return function


class OddError(Exception):
    def __str__(self):
        raise RuntimeError


def test_what_a_function_raises_is_raised_here(monkeypatch):
    for raised, name, message in (
        (ValueError("bad"), "ValueError", "bad"),
        (SystemExit(3), "SystemExit", "3"),
        (OddError(), "OddError", "(its message cannot be shown)"),
    ):
        with pytest.raises(WorkerError) as error:
            read(answer_of(monkeypatch, raising(raised)))
        assert (type(error.value).__name__, str(error.value)) == (name, message)
        (note,) = error.value.__notes__
        assert note.startswith("In the worker process:\nTraceback (most recent call last)")
        assert "in function" in note


def test_a_missing_permission_comes_back_as_such(monkeypatch):
    denied = PermissionDeniedError("not allowed", "network.public")
    for directory in (None, Path("/workspace")):
        needed = PathPermissionError("files.read", "read /etc/x", Path("/etc/x"), directory)
        with pytest.raises(PathPermissionError) as error:
            read(answer_of(monkeypatch, raising(needed)))
        found = error.value
        assert (found.permission, found.detail, found.path, found.directory) == (
            *("files.read", "read /etc/x", Path("/etc/x"), directory),
        )
        assert str(found) == str(needed)
    with pytest.raises(PermissionDeniedError) as error:
        read(answer_of(monkeypatch, raising(denied)))
    assert type(error.value) is PermissionDeniedError
    assert (str(error.value), error.value.permission) == (str(denied), "network.public")


def test_a_process_that_says_nothing_is_a_failed_call(caplog):
    for answer, returncode, how in ((b"", -9, "was killed"), (b"{", 3, "ended with exit status 3")):
        result, caller = read(answer, returncode)
        assert (result.status, result.error_type) == (ToolResultStatus.ERROR, "execution_error")
        assert result.error_message.startswith("The process that ran the tool ")
        assert result.error_message.endswith(" before the tool had finished.")
        assert returncode < 0 or how in result.error_message
        assert (caller.marks, caller.paths.used) == ([], [])
    assert [each.getMessage().partition(":")[0] for each in caplog.records] == ["tool 'run'"] * 2


def test_a_request_is_sent_with_its_length():
    data = isolation._pack(TARGET, {"a": 1}, None, is_converted=True)
    assert int.from_bytes(data[:8], "big") == len(data) - 8
    assert pickle.loads(data[8:]) == (TARGET, {"a": 1}, None, True)
    with pytest.raises(ToolDefinitionError) as error:
        isolation._pack(TARGET, {"a": lambda: 1}, None, is_converted=True)
    assert str(error.value).startswith("tool 'run': its arguments cannot be sent to a worker process: ")
    assert str(error.value).endswith("; use types that can be pickled, or leave out isolation='process'")


def test_a_call_is_served_over_pipes(monkeypatch):
    data = isolation._pack(TARGET, {}, None, is_converted=True)
    pieces = [data[:8], data[8:]]
    asked, written = [], []

    def read_exactly(stream, length):
        assert stream == "reading"
        asked.append(length)
        return pieces.pop(0)

    def write_all(stream, answer):
        written.append((stream, json.loads(answer)))
        raise BrokenPipeError

    monkeypatch.setattr(isolated_call, "take_pipes", lambda: ("reading", "writing"))
    monkeypatch.setattr(isolated_call, "read_exactly", read_exactly)
    monkeypatch.setattr(isolated_call, "write_all", write_all)
    monkeypatch.setattr(isolated_call, "_answer", lambda request: {"request": len(request)})
    isolated_call.serve()
    assert asked == [8, len(data) - 8]
    assert written == [("writing", {"request": len(data) - 8})]


class Process:
    def __init__(self, *parts):
        self.sent, self._parts = [], [*parts, b""]
        self.stdout = self

    async def send(self, request):
        self.sent.append(request)

    async def read(self, size):
        assert size == 1 << 20
        return self._parts.pop(0)


def test_an_answer_is_read_to_its_end_and_is_limited(monkeypatch):
    process = Process(b"one", b"two")
    assert asyncio.run(isolation._exchange(process, b"request")) == b"onetwo"
    assert process.sent == [b"request"]
    assert MAX_ANSWER_BYTES == 200_000_000
    monkeypatch.setattr(isolation, "MAX_ANSWER_BYTES", 6)
    assert asyncio.run(isolation._exchange(Process(b"one", b"two"), b"")) == b"onetwo"
    assert asyncio.run(isolation._exchange(Process(b"one", b"twos"), b"")) is None
