"""Messages to and from a server that is a program."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification
from oneclaw_mcp import stdio
from oneclaw_mcp.stdio import ServerLog, ServerProgram

if TYPE_CHECKING:
    from pathlib import Path

# Waits until a file is there, and then answers each line with its length.
SLOW_READER = """
import json, pathlib, sys, time
while not pathlib.Path("go").exists():
    time.sleep(0.01)
for line in sys.stdin:
    json.loads(line)
    print(json.dumps({"jsonrpc": "2.0", "method": "length", "params": {"length": len(line)}}), flush=True)
print("a banner")
print('{"not": "a message"}', flush=True)
"""


def program(folder: Path, code: str) -> ServerProgram:
    return ServerProgram([sys.executable, "-c", code], folder, dict(os.environ), ServerLog(folder / "log"))


def message(text: str) -> SessionMessage:
    return SessionMessage(JSONRPCNotification(jsonrpc="2.0", method="say", params={"text": text}))


@pytest.mark.long
def test_message_of_a_cancelled_call_is_written_whole(tmp_path: Path) -> None:
    async def use() -> list[Any]:
        server = program(tmp_path, SLOW_READER)
        server.start()
        async with server.streams() as (received, sent):
            sending = asyncio.create_task(sent.send(message("x" * 1_000_000)))
            await asyncio.wait({sending}, timeout=0.2)
            assert not sending.done()
            sending.cancel()
            await asyncio.wait({sending})
            second = asyncio.create_task(sent.send(message("y" * 100_000)))
            await asyncio.wait({second}, timeout=0.05)
            assert not second.done()
            (tmp_path / "go").touch()
            await second
            await sent.send(message("z"))
            return [(await received.receive()).message.params["length"] for _ in range(3)]

    empty = len(message("").message.model_dump_json(by_alias=True, exclude_unset=True)) + 1
    assert asyncio.run(use()) == [empty + 1_000_000, empty + 100_000, empty + 1]


def test_program_that_reads_nothing_is_ended_while_a_message_waits(tmp_path: Path) -> None:
    async def use() -> None:
        server = program(tmp_path, "import time; time.sleep(100)")
        server.start()
        async with server.streams() as (_, sent):
            sending = asyncio.create_task(sent.send(message("x" * 1_000_000)))
            await asyncio.wait({sending}, timeout=0.2)
            assert not sending.done()
        await asyncio.wait_for(sending, 10)

    asyncio.run(use())


def test_what_is_no_message_is_logged(tmp_path: Path) -> None:
    async def use() -> None:
        (tmp_path / "go").touch()
        server = program(tmp_path, SLOW_READER)
        server.start()
        async with server.streams() as (received, sent):
            await server.close()
            for _ in range(2):
                with pytest.raises(anyio.EndOfStream):
                    await received.receive()
            await sent.send(message("too late"))

    asyncio.run(use())
    assert (tmp_path / "log").read_text().count("[on standard output] ") == 2


def test_a_server_that_never_reads_is_given_up_instead_of_kept_waiting_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "MAX_WAITING_BYTES", 500_000)

    async def use() -> str | None:
        server = program(tmp_path, "import time; time.sleep(60)")
        server.start()
        async with server.streams() as (_, sent):
            for _ in range(10):  # calls that were given up, one after the other
                sending = asyncio.create_task(sent.send(message("x" * 200_000)))
                await asyncio.wait({sending}, timeout=0.02)
                sending.cancel()
                await asyncio.wait({sending})
            return server.fault

    assert asyncio.run(use()) == "it does not read what it is sent"
