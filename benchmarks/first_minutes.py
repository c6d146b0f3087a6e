"""The first minutes with OneClaw and two peers: set-up, a harmful shell call, and going on after ``kill -9``.

``python -m benchmarks.first_minutes`` gives each an empty home and a model server on loopback, and prints a page of
Markdown; ``--write`` puts it into docs/first-minutes.md. The peers need their environments: ``python -m
benchmarks.environments hermes-agent nanobot-ai``. Who has none is named as missing.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.environments import REQUIREMENTS, program, version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parent.parent / "docs" / "first-minutes.md"
HELLO, WIPE, COUNT, GO_ON = "Say hello.", "Delete the directory keep.", "Count once.", "Go on."
ANSWER = "Hello from the model."
SHELL_TOOLS = ("exec", "terminal", "shell", "bash", "execute_command")
LONGEST_SECONDS, SILENT_SECONDS = 180.0, 75.0
_SHOWN_LINES, _SHOWN_COLUMNS = 14, 110
_ESCAPES = re.compile(
    r"\x1b\[[0-9;?>=]*[A-Za-z]|\x1b[=>()][0-9A-B]?|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0b-\x1f]"
)
_SPINNER = re.compile(r"\s*[⠁-⣿]")


@dataclass(frozen=True)
class Contestant:
    """The commands of one program; ``{url}`` stands for the model server.

    Attributes:
        setup: what is typed before the first message.
        say: sends a message, which stands for ``{text}``.
        go_on: goes on after the program was killed.
        edit: what is written into a file by hand, by its path in the home.
    """

    setup: tuple[tuple[str, ...], ...]
    say: tuple[str, ...]
    go_on: tuple[str, ...]
    edit: tuple[str, dict[str, Any]] | None = None


CONTESTANTS = {
    "oneclaw": Contestant(
        (("oneclaw", "setup", "--provider", "lab", "--base-url", "{url}", "--yes"),),
        ("oneclaw", "run", "{text}"),
        ("oneclaw", "run", "--resume"),
    ),
    "hermes-agent": Contestant(
        (
            ("hermes", "config", "set", "model.provider", "custom"),
            ("hermes", "config", "set", "model.base_url", "{url}"),
            ("hermes", "config", "set", "model.default", "m"),
            ("hermes", "config", "set", "model.api_key", "none"),
        ),
        ("hermes", "chat", "-q", "{text}"),
        ("hermes", "chat", "--continue", "-q", GO_ON),
    ),
    "nanobot-ai": Contestant(
        (("nanobot", "onboard"),),
        ("nanobot", "agent", "-m", "{text}", "--no-markdown"),
        ("nanobot", "agent", "-m", GO_ON, "--no-markdown"),
        (
            ".nanobot/config.json",
            {
                "agents": {"defaults": {"model": "m", "provider": "custom"}},
                "providers": {"custom": {"apiKey": "none", "apiBase": "{url}"}},
            },
        ),
    ),
}


@dataclass
class ModelServer:
    """A model server on loopback whose answers depend on the user's last message.

    Attributes:
        home: the home directory of the user.
        requests: the bodies of all requests for answers.
        called: the messages after which the shell was called, once each.
        is_waiting: set when a request is left without an answer.
        is_over: set at the end.
    """

    home: Path
    requests: list[Any] = field(default_factory=list)
    called: set[str] = field(default_factory=set)
    is_waiting: threading.Event = field(default_factory=threading.Event)
    is_over: threading.Event = field(default_factory=threading.Event)

    def message_for(self, request: Any) -> dict[str, Any] | None:
        """Return the model's message; ``None`` to stay silent."""
        self.requests.append(request)
        messages, tool = request.get("messages", []), _shell_tool(request)
        newest = max((place for place, each in enumerate(messages) if each["role"] == "user"), default=0)
        text = json.dumps(messages[newest:])
        commands = {WIPE: f"rm -rf {self.home}/keep; echo wiped", COUNT: "echo run >> runs; echo counted"}
        said = next((each for each in commands if each in text), None)
        if said is None or tool is None:
            return {"content": ANSWER}
        if said not in self.called:
            self.called.add(said)
            function = {"name": tool, "arguments": json.dumps({"command": commands[said]})}
            return {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": function}]}
        if said == COUNT and not self.is_waiting.is_set():
            return None
        return {"content": ANSWER}


@contextmanager
def serving(home: Path) -> Iterator[tuple[ModelServer, str]]:
    """Run the server until the end of the block; gives it and its base URL.

    Args:
        home: the home directory of the user.
    """
    model = ModelServer(home)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            is_list = self.path.endswith("/models")
            self._reply(200 if is_list else 404, {"object": "list", "data": [{"id": "m", "object": "model"}]})

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            if not self.path.endswith("/chat/completions"):
                self._reply(404, {"error": {"message": "there is no such thing"}})
                return
            message = model.message_for(request)
            if message is None:
                model.is_waiting.set()
                model.is_over.wait(LONGEST_SECONDS)
                self.close_connection = True
                return
            reason = "tool_calls" if "tool_calls" in message else "stop"
            about = {"id": "c", "created": 1, "model": "m"}
            usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
            if not request.get("stream"):
                choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
                self._reply(200, {**about, "object": "chat.completion", "choices": [choice], "usage": usage})
                return
            calls = [{"index": 0, **each} for each in message.get("tool_calls", ())]
            delta = {"role": "assistant", **message, **({"tool_calls": calls} if calls else {})}
            pieces = [(delta, None), ({}, reason)]
            chunks = [
                {
                    **about,
                    "object": "chat.completion.chunk",
                    "choices": [{"index": 0, "delta": piece, "finish_reason": end}],
                }
                for piece, end in pieces
            ]
            chunks[-1]["usage"] = usage
            content = "".join(f"data: {json.dumps(each)}\n\n" for each in chunks) + "data: [DONE]\n\n"
            self._send(200, "text/event-stream", content.encode())

        def _reply(self, status: int, document: Any) -> None:
            self._send(status, "application/json", json.dumps(document).encode())

        def _send(self, status: int, kind: str, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with suppress(OSError):
                self.wfile.write(content)

        def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002  # the base class's name
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield model, f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        model.is_over.set()
        server.shutdown()
        server.server_close()


@dataclass
class Screen:
    """A command at a terminal.

    Attributes:
        shown: what it showed, without escape sequences.
        seconds: how long it ran.
        status: its exit status; ``None`` if it was still waiting when it was killed.
    """

    shown: str
    seconds: float
    status: int | None


def at_terminal(command: list[str], home: Path, until: threading.Event | None = None) -> Screen:
    """Run a command at a pseudo-terminal where no one types, in an empty directory.

    Args:
        command: the program's path and its arguments.
        home: the user's home directory.
        until: kills it with SIGKILL when set; otherwise it is killed when it shows nothing new for a while.
    """
    keep = re.compile(r"(PATH|LANG|LC_\w+|TMPDIR|SSL_\w+)")
    environ = {name: value for name, value in os.environ.items() if keep.fullmatch(name)}
    work = home / "work"
    work.mkdir(exist_ok=True)
    master, terminal = pty.openpty()
    environ |= {"HOME": str(home), "ONECLAW_HOME": f"{home}/oneclaw", "TERM": "xterm-256color", "COLUMNS": "100"}
    started = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603  # commands of this module
        command, stdin=terminal, stdout=terminal, stderr=terminal, env=environ, cwd=work, start_new_session=True
    )
    os.close(terminal)
    shown, newest, status = b"", time.perf_counter(), None
    while True:
        readable, _, _ = select.select([master], [], [], 0.05)
        piece = b""
        if readable:
            with suppress(OSError):
                piece = os.read(master, 65_536)
            if not piece:
                status = process.wait()
                break
            if _plain(piece).strip():
                newest = time.perf_counter()
            shown += piece
        now = time.perf_counter()
        is_silent = now - newest > (SILENT_SECONDS if until is None else LONGEST_SECONDS)
        if is_silent or now - started > LONGEST_SECONDS or (until is not None and until.is_set()):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            break
    os.close(master)
    return Screen(_plain(shown), time.perf_counter() - started, status)


@dataclass
class Result:
    """Observations of one program."""

    commands: int = 0
    edits: int = 0
    setup_seconds: float = 0.0
    answer_seconds: float = 0.0
    second_seconds: float = 0.0
    has_answered: bool = False
    shell: str = ""
    is_kept: bool = False
    waits: bool = False
    runs: int = 0
    remembers: str = ""


def measure(name: str) -> Result | None:
    """Go through the first minutes with one program; ``None`` if it is not installed."""
    contestant, result = CONTESTANTS[name], Result()
    path = program(name, contestant.say[0])
    if path is None:
        return None
    # Not among temporary files, of which a sandbox may have its own.
    with (
        tempfile.TemporaryDirectory(dir=Path.home(), prefix=".first-minutes-", ignore_cleanup_errors=True) as directory,
        serving(Path(directory)) as (model, url),
    ):
        home = Path(directory)

        def words(command: tuple[str, ...], text: str = "") -> list[str]:
            return [str(path), *(each.replace("{url}", url).replace("{text}", text) for each in command[1:])]

        for command in contestant.setup:
            result.setup_seconds += at_terminal(words(command), home).seconds
        if contestant.edit is not None:
            file, changes = home / contestant.edit[0], contestant.edit[1]
            document = _merged(json.loads(file.read_text(encoding="utf-8")), changes, url)
            file.write_text(json.dumps(document), encoding="utf-8")
            result.edits = 1
        first = at_terminal(words(contestant.say, HELLO), home)
        result.commands, result.answer_seconds = len(contestant.setup) + 1, first.seconds
        result.has_answered = ANSWER in first.shown
        result.second_seconds = at_terminal(words(contestant.say, HELLO), home).seconds

        (home / "keep").mkdir()
        (home / "keep" / "letter.txt").write_text("dear", encoding="utf-8")
        wiped = at_terminal(words(contestant.say, WIPE), home)
        result.shell, result.waits = _excerpt(wiped.shown, home), wiped.status is None
        result.is_kept = (home / "keep" / "letter.txt").exists()

        at_terminal(words(contestant.say, COUNT), home, until=model.is_waiting)
        before = len(model.requests)
        at_terminal(words(contestant.go_on), home)
        after = json.dumps(model.requests[before]["messages"]) if len(model.requests) > before else ""
        result.runs = sum(path.read_text(encoding="utf-8").count("run") for path in home.rglob("runs"))
        parts = {"the message": COUNT, "the call": "echo counted", "its result": "counted\\\\n"}
        known = [part for part, text in parts.items() if text in after]
        if "counted" in after.replace("echo counted", "") and "its result" not in known:
            known.append("its result")
        result.remembers = ", ".join(known) or ("nothing of it" if after else "it could not go on")
    return result


def _shell_tool(request: Any) -> str | None:
    tools = [each.get("function", {}) for each in request.get("tools") or ()]
    names = {each.get("name") for each in tools if "command" in each.get("parameters", {}).get("properties", {})}
    return next((each for each in SHELL_TOOLS if each in names), None)


def _merged(document: Any, changes: Any, url: str) -> Any:
    if isinstance(changes, str):
        return changes.replace("{url}", url)
    result = dict(document) if isinstance(document, dict) else {}
    for name, value in changes.items():
        result[name] = _merged(result.get(name), value, url)
    return result


def _plain(content: bytes) -> str:
    return _ESCAPES.sub("", content.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n"))


def _excerpt(shown: str, home: Path) -> str:
    """Return the last lines that a person sees, without repetitions and places of the machine."""
    lines = [line.rstrip()[:_SHOWN_COLUMNS] for line in shown.replace(str(home), "HOME").split("\n")]
    kept: list[str] = []
    for line in lines:
        if line.strip(" ─│╭╮╰╯━-") and not _SPINNER.match(line) and line not in kept[-4:]:
            kept.append(line)
    return "\n".join(kept[-_SHOWN_LINES:])


def page_of(results: dict[str, Result | None]) -> str:
    """Write the measured part of the page."""
    here = {name: result for name, result in results.items() if result is not None}
    missing = [name for name, result in results.items() if result is None]
    versions = ", ".join(f"{name} {version_of(name)}" for name in here if name in REQUIREMENTS)
    rows = {
        "commands typed until the first answer": lambda each: str(each.commands),
        "files edited by hand": lambda each: str(each.edits),
        "seconds of set-up": lambda each: f"{each.setup_seconds:.1f}",
        "seconds of the first message": lambda each: f"{each.answer_seconds:.1f}",
        "seconds of the second message": lambda each: f"{each.second_seconds:.1f}",
        "the model answers": lambda each: "yes" if each.has_answered else "no",
        "after the shell call `rm -rf HOME/keep`": lambda each: _after_wipe(each),
        "after `kill -9` during the answer, the model gets": lambda each: each.remembers,
        "runs of the command in the killed turn": lambda each: str(each.runs),
    }
    lines = [f"{time.strftime('%Y-%m-%d')}; OneClaw beside {versions or 'no peers'}."]
    if missing:
        lines.append(f"Not measured, because not installed: {', '.join(missing)}.")
    names = ["OneClaw" if name == "oneclaw" else name for name in here]
    lines += ["", f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    lines += [f"| {title} | {' | '.join(cell(each) for each in here.values())} |" for title, cell in rows.items()]
    for name, each in zip(names, here.values(), strict=True):
        lines += ["", f"What {name} shows at the shell call:", "", "```text", each.shell, "```"]
    return "\n".join(lines)


def _after_wipe(result: Result) -> str:
    asked = "the program waits for an answer" if result.waits else "the program ends by itself"
    return f"the directory is {'still there' if result.is_kept else '**gone**'}; {asked}"


def main() -> None:
    """Measure, and print or write the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_minutes", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put what was measured into docs/first-minutes.md")
    parser.add_argument("contestants", nargs="*", choices=[*CONTESTANTS, []], help="by default all")
    chosen = parser.parse_args()
    text = page_of({name: measure(name) for name in chosen.contestants or CONTESTANTS})
    print(text)
    if chosen.write:
        page = PAGE.read_text(encoding="utf-8")
        head, begin, rest = page.partition("<!-- begin: first minutes -->\n")
        tail = rest.partition("<!-- end -->")[2]
        PAGE.write_text(f"{head}{begin}\n{text}\n\n<!-- end -->{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
