"""Talking to a model in separate processes: the model follows a script, and its requests are kept.

The model speaks Chat Completions. What it says next may depend on what tools have answered so far, as with a real one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.scopes import TOOL_SCOPES
from pytest_oneclaw import ReceivedRequest, RoutedWebServer, WebAnswer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from google_programs import Programs

Reply = str | tuple[str, dict[str, Any]] | list[tuple[str, dict[str, Any]]]


class Heard:
    """What a model was sent in one request.

    Attributes:
        tools: the names of the tools that were offered, in order.
        messages: the conversation so far.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        self.tools = [tool["function"]["name"] for tool in body["tools"]]
        self.messages: list[dict[str, Any]] = body["messages"]

    @property
    def google_tools(self) -> list[str]:
        """Those of the offered tools that are Google's."""
        return [name for name in self.tools if name in TOOL_SCOPES]

    def result(self, tool: str) -> Any:
        """What the last call of a tool was answered: a text, or JSON data."""
        names = {
            call["id"]: call["function"]["name"]
            for message in self.messages
            for call in message.get("tool_calls") or ()
        }
        answers = [
            message["content"]
            for message in self.messages
            if message["role"] == "tool" and names[message["tool_call_id"]] == tool
        ]
        return json.loads(answers[-1])["result"]


class Said:
    """What a process printed with ``--json``.

    Attributes:
        events: of the turn, in order.
    """

    def __init__(self, finished: subprocess.CompletedProcess[str]) -> None:
        assert finished.returncode == 0, finished.stderr
        self.events = [json.loads(line) for line in finished.stdout.splitlines()]

    def called(self) -> list[str]:
        """The tools that were called; all of them must have succeeded."""
        results = [event for event in self.events if event["event"] == "tool_result"]
        failed = [event for event in results if event["status"] != "success"]
        assert not failed, failed
        return [event["name"] for event in results]

    def loaded(self) -> list[str]:
        """The groups that were loaded."""
        return [event["group"] for event in self.events if event["event"] == "group_loaded"]

    @property
    def text(self) -> str:
        """The final answer."""
        assert self.events[-1]["event"] == "turn_finished", self.events[-1]
        text: str = self.events[-1]["text"]
        return text


class Conversation:
    """Runs ``oneclaw`` with the scripted model, each message in a separate process.

    Args:
        programs: runs ``oneclaw``.
        web_server: where the model is.
        script: what it says, request by request: a text, one or several tool calls as name and arguments, or a function
            that makes one of these from what it has :class:`Heard`.
        directory: where the program is started.

    Attributes:
        heard: what the model was sent, request by request.
    """

    def __init__(
        self,
        programs: Programs,
        web_server: RoutedWebServer,
        script: Sequence[Reply | Callable[[Heard], Reply]],
        directory: Path,
    ) -> None:
        self.heard: list[Heard] = []
        self._programs = programs
        self._script = script
        self._url = web_server.url_of("/v1")
        self._directory = directory
        web_server.answers("/v1/chat/completions", self._answer, method="POST")

    def say(self, message: str, *allowed: str, session: str = "today") -> Said:
        """Send a message in a separate process; gives what it printed."""
        options = [option for permission in ("network.private", *allowed) for option in ("--allow", permission)]
        return Said(self.run("run", "--session", session, "--json", *options, message))

    def run(self, command: str, *arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command that talks to the model."""
        environ = {"OPENAI_BASE_URL": self._url, "OPENAI_API_KEY": "sk-test"}
        model = ("--model", "openai_compatible/test")
        return self._programs.run(command, *model, *arguments, environ=environ, directory=self._directory, typed=typed)

    def _answer(self, request: ReceivedRequest) -> WebAnswer:
        heard = Heard(request.json())
        number = len(self.heard)
        self.heard.append(heard)
        try:
            said = self._script[number]
            reply = said(heard) if callable(said) else said
        except (LookupError, TypeError, ValueError) as error:
            # A status that is not tried again.
            return WebAnswer({"error": {"message": f"the script cannot go on: {error!r}"}}, 400)
        if isinstance(reply, str):
            delta, reason = {"role": "assistant", "content": reply}, "stop"
        else:
            calls = reply if isinstance(reply, list) else [reply]
            delta, reason = {"role": "assistant", "content": None, "tool_calls": _calls(calls, number)}, "tool_calls"
        chunks = [_chunk([{"index": 0, "delta": delta, "finish_reason": None}])]
        chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": reason}]))
        chunks.append(_chunk([]) | {"usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}})
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        return WebAnswer(body, headers={"Content-Type": "text/event-stream"})


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "test", "choices": choices}


def _calls(calls: list[tuple[str, dict[str, Any]]], number: int) -> list[dict[str, Any]]:
    return [
        {
            "index": index,
            "id": f"call_{number}_{index}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(arguments)},
        }
        for index, (name, arguments) in enumerate(calls)
    ]
