"""Whole programs that send one message to a local model service, each in a home that it has used before."""

from __future__ import annotations

import json
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from benchmarks.model_service import model_service
from benchmarks.results import SUBJECT
from benchmarks.running import REPOSITORY, Measured, run_program
from benchmarks.tool_set import ANSWER, LOAD_TURN
from benchmarks.work import WORKS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

# The first run makes the home, writes bytecode, and of some downloads what they lack.
_FIRST_SECONDS = 120


@dataclass(frozen=True)
class Program:
    """Configuration that points a program at the model service.

    Attributes:
        command: sends the message.
        files: of its home, by path; ``{url}`` stands for the service.
        setup: commands that are run once; ``{url}`` stands for the service here too.
    """

    command: tuple[str, ...]
    files: Mapping[str, str]
    setup: tuple[tuple[str, ...], ...] = ()


PROGRAMS = {
    "oneclaw": Program(
        ("oneclaw", "run", "--model", "lab/m", LOAD_TURN),
        {},
        (("oneclaw", "providers", "add", "lab", "--type", "openai_compatible", "--base-url", "{url}"),),
    ),
    "llm": Program(
        ("llm", "-m", "lab", LOAD_TURN),
        {"llm/extra-openai-models.yaml": "- model_id: lab\n  model_name: m\n  api_base: {url}\n"},
    ),
    "hermes-agent": Program(
        ("hermes", "-z", LOAD_TURN),
        {
            ".hermes/config.yaml": (
                "model:\n  default: m\n  provider: custom\n  base_url: {url}\n  api_key: none\n"
                "  context_length: 128000\n"
            )
        },
    ),
    "nanobot-ai": Program(
        ("nanobot", "agent", "-m", LOAD_TURN, "--no-markdown"),
        {
            ".nanobot/config.json": (
                '{"agents": {"defaults": {"model": "m", "provider": "custom"}}, '
                '"providers": {"custom": {"apiKey": "none", "apiBase": "{url}"}}}'
            )
        },
    ),
}


class ProgramHomes:
    """A model service, and the homes of the programs that ask it; they last until the ``with`` block ends."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path()
        self._url = ""
        self._ready: dict[str, list[int] | str] = {}

    def __enter__(self) -> Self:
        """Make an empty folder for the homes; the service starts with the first program."""
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the service and remove the homes."""
        self._stack.close()

    def run(self, contestant: str) -> Measured | str:
        """Have a program send the message once; before the first time, make its home and send it, too.

        Returns:
            What was measured, or in words why nothing was.
        """
        program = PROGRAMS[contestant]
        if contestant not in self._ready:
            self._ready[contestant] = self._prepare(contestant, program)
        tokens = self._ready[contestant]
        if isinstance(tokens, str):
            return tokens
        done = run_program(contestant, [*program.command], home=self.home(contestant))
        if isinstance(done, str):
            return done
        if ANSWER not in done.output:
            return "failed: it did not answer"
        figures = (done.seconds, done.processor_seconds, done.peak_mb, *tokens)
        (work,) = (each for each in WORKS if each.name == "run")
        titles = [measure.title for measure in work.measures]
        return Measured(dict(zip(titles, figures, strict=True)), None, done.seconds, done.processor_seconds)

    @property
    def _requests(self) -> Path:
        return self._folder / "requests.jsonl"

    def home(self, name: str) -> Path:
        """Return a home that lasts as long as this."""
        home = self._folder / name
        home.mkdir(exist_ok=True)
        return home

    def _prepare(self, contestant: str, program: Program) -> list[int] | str:
        """Make a home, send the message, and count the tokens of the request; or tell why that failed."""
        self._url = self._url or self._stack.enter_context(model_service(0, self._requests))
        home = self.home(contestant)
        for name, text in program.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("{url}", self._url), encoding="utf-8")
        self._requests.unlink(missing_ok=True)
        for command in (*program.setup, program.command):
            words = [word.replace("{url}", self._url) for word in command]
            done = run_program(contestant, words, home=home, longest_seconds=_FIRST_SECONDS)
            if isinstance(done, str):
                return done
        counting = ["python", "-m", "benchmarks.prompt_tokens", str(self._requests)]
        counted = run_program(SUBJECT, counting, cwd=REPOSITORY)
        return counted if isinstance(counted, str) else json.loads(counted.output)
