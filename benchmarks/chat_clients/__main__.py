"""Make the table of the clients: ``uv run python -m benchmarks.chat_clients [--write] [CLIENT ...]``.

Each client gets an environment with its newest version, by ``uv`` or ``npm``, which download the packages.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.chat_clients.model import ANSWER, ScriptedService, images

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROGRAMS = Path(__file__).parent / "programs"
ENVIRONMENTS = Path(__file__).parents[1] / ".environments"
PAGE = Path(__file__).parents[2] / "docs" / "serve.md"
BEGIN, END = "<!-- clients: begin -->\n", "<!-- clients: end -->\n"
CHECKS = ("chat", "stream", "image", "cancel", "errors")
WORKS = "yes"
MOST_SECONDS = 180.0
_TEXT = "".join(ANSWER)


@dataclass(frozen=True)
class Client:
    """A client.

    Attributes:
        name: in the table.
        program: its file in ``programs``.
        packages: that it needs; the first one's version is shown.
    """

    name: str
    program: str
    packages: tuple[str, ...]

    @property
    def is_npm(self) -> bool:
        return self.program.endswith(".mjs")


CLIENTS = (
    Client("openai (Python)", "openai_client.py", ("openai",)),
    Client("openai (npm)", "openai_client.mjs", ("openai",)),
    Client("langchain-openai", "langchain_client.py", ("langchain-openai",)),
    Client("pydantic-ai", "pydantic_ai_client.py", ("pydantic-ai-slim[openai]",)),
    Client("litellm", "litellm_client.py", ("litellm",)),
    Client("llm", "llm_client.py", ("llm",)),
    Client("AI SDK, @ai-sdk/openai", "ai_sdk_openai.mjs", ("ai", "@ai-sdk/openai")),
    Client("AI SDK, @ai-sdk/openai-compatible", "ai_sdk_compatible.mjs", ("ai", "@ai-sdk/openai-compatible")),
)


class Environment:
    """An environment with one client.

    Args:
        client: which.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._folder = ENVIRONMENTS / f"chat-{client.program.replace('.', '-')}"

    def make(self) -> None:
        """Install the newest version of the client."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        if self.client.is_npm:
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", *self.client.packages]
            subprocess.run(command, cwd=self._folder, check=True)
        else:
            subprocess.run(["uv", "venv", "-q", "--clear", "--python", sys.executable, self._folder], check=True)
            install = ["uv", "pip", "install", "-q", "--python", self._folder / "bin/python", *self.client.packages]
            subprocess.run(install, check=True)
        for each in PROGRAMS.iterdir():
            if each.is_file():
                shutil.copy(each, self._folder)

    def version(self) -> str:
        """Return the version of the client."""
        package = self.client.packages[0].partition("[")[0]
        if self.client.is_npm:
            return str(json.loads((self._folder / "node_modules" / package / "package.json").read_text())["version"])
        code = f"from importlib.metadata import version; print(version({package!r}))"
        return subprocess.run(
            [self._folder / "bin/python", "-c", code], capture_output=True, text=True, check=True
        ).stdout.strip()

    @contextmanager
    def running(self, check: str, environ: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
        """Run a check of the client until the end of the block."""
        program = str(self._folder / self.client.program)
        command = ["node", program] if self.client.is_npm else [str(self._folder / "bin/python"), program]
        with subprocess.Popen(
            [*command, check],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._folder,
            env={**os.environ, **environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True"},
        ) as process:
            killing = threading.Timer(MOST_SECONDS, process.kill)
            killing.start()
            try:
                yield process
            finally:
                killing.cancel()
                process.kill()


class Judge:
    """Tries clients on a server, and says how each check went.

    Args:
        service: the model behind the server.
        environ: what the clients need to reach the server.
    """

    def __init__(self, service: ScriptedService, environ: dict[str, str]) -> None:
        self._service = service
        self._environ = environ

    def verdicts(self, environment: Environment) -> list[str]:
        """Return ``WORKS``, or what is wrong, for each check."""
        return [self._verdict(environment, check) for check in CHECKS]

    def _verdict(self, environment: Environment, check: str) -> str:
        before, left = len(self._service.requests), self._service.left
        with environment.running(check, self._environ) as process:
            if check == "cancel":
                line = process.stdout.readline() if process.stdout else ""
                has_ended = line and _until(lambda: self._service.left > left, 4)
                return WORKS if has_ended else f"the turn goes on {_last_line(process) if not line else ''}".strip()
            out, errors = process.communicate()
        if process.returncode:
            return f"fails: {(errors.strip().splitlines() or ['it takes too long'])[-1][:100]}"
        found, sent = json.loads(out.strip().splitlines()[-1]), self._service.requests[before:]
        judged: str = getattr(self, f"_judge_{check}")(found, sent)
        return judged

    def _judge_chat(self, found: dict[str, Any], sent: list[dict[str, Any]]) -> str:
        if found["texts"] != [_TEXT, _TEXT]:
            return f"answers {found['texts']}"
        roles = [each["role"] for each in sent[-1]["messages"] if each["role"] != "system"]
        return WORKS if roles == ["user", "assistant", "user"] else "begins a session for each message"

    def _judge_stream(self, found: dict[str, Any], sent: list[dict[str, Any]]) -> str:
        return WORKS if found["text"] == _TEXT and found["pieces"] > 1 else f"gets {found}"

    def _judge_image(self, found: dict[str, Any], sent: list[dict[str, Any]]) -> str:
        return WORKS if found["text"] == _TEXT and images(sent[-1]) == 1 else "the model sees no image"

    def _judge_errors(self, found: dict[str, Any], sent: list[dict[str, Any]]) -> str:
        problems = []
        for name, status, words in (("fail", 422, "Incorrect API key"), ("two", 400, "an agent")):
            told = found[name]
            if told["status"] not in (status, None) or words not in told["message"]:
                problems.append(f"{name}: {told}")
        if len(sent) != 1:
            problems.append(f"asks {len(sent)} times")
        return "; ".join(problems) or WORKS


def _last_line(process: subprocess.Popen[str]) -> str:
    return (process.communicate(timeout=60)[1].strip().splitlines() or ["it says nothing"])[-1][:100]


def _until(is_true: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.05)
    return is_true()


@contextmanager
def serving() -> Iterator[Judge]:
    """Run ``oneclaw serve`` in a new home with the scripted model, until the end of the block."""
    service = ScriptedService()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        program = str(Path(sys.executable).parent / "oneclaw")
        environ = {**os.environ, "ONECLAW_HOME": f"{folder}/home"}
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()

        def oneclaw(*arguments: str, given: str | None = None) -> str:
            command = [program, *arguments]
            done = subprocess.run(
                command, input=given, capture_output=True, text=True, check=True, env=environ, cwd=folder
            )
            return done.stdout.strip()

        oneclaw("providers", "add", "scripted", "--type", "openai_compatible", "--base-url", service.url)
        oneclaw("keys", "set", "scripted", given="sk-scripted\n")
        oneclaw("models", "default", "scripted/scripted")
        command = [program, "serve", "--only", "web", "--port", str(port)]
        with subprocess.Popen(command, env=environ, cwd=folder, stderr=subprocess.DEVNULL) as server:
            try:
                token = oneclaw("serve", "token", "create", "clients")
                if not _until(lambda: _listens(port), 30):
                    sys.exit("oneclaw serve does not start")
                yield Judge(service, {"ONECLAW_V1": f"http://127.0.0.1:{port}/v1", "ONECLAW_TOKEN": token})
            finally:
                server.terminate()
    service.close()


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def table(rows: list[list[str]]) -> str:
    """Write rows as Markdown."""
    head = ["client", "version", *CHECKS]
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---").replace("--- |", "---|")


def rows_of(clients: list[Client]) -> list[list[str]]:
    """Try clients; return a row of the table for each."""
    rows = []
    with serving() as judge:
        for client in clients:
            environment = Environment(client)
            environment.make()
            rows.append([client.name, environment.version(), *judge.verdicts(environment)])
            print(" ".join(rows[-1]), file=sys.stderr)
    return rows


def main() -> None:
    """Print the table, or write it into the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chat_clients", description=__doc__)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help="these alone, by a part of the name")
    parser.add_argument("--write", action="store_true", help="put the table of all into docs/serve.md")
    chosen = parser.parse_args()
    wanted = [each for each in CLIENTS if not chosen.clients or any(part in each.name for part in chosen.clients)]
    text = table(rows_of(wanted))
    if not chosen.write:
        print(text, end="")
        return
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{text}{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
