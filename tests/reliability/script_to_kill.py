"""Run a script until the process is killed, or go on with it; test_killed_scripts forks processes that do so.

Each effect is a line in ``effects.log``, written by a tool that cannot be repeated. The first byte of ``running``
counts the tools that run.
"""

import asyncio
import json
import mmap
import os
import random
import time
from contextlib import contextmanager

from pytest_oneclaw.home_under_test import HomeUnderTest

from oneclaw_core import ToolContext, TurnFinishedEvent, hookimpl, tool
from oneclaw_core.providers import ModelResponse
from oneclaw_core.scripts import begin_script
from oneclaw_core.types.messages import MessageType, ToolCall

CODE = """
const {ids} = await tools.listing({n: 8});
const first = await Promise.all(ids.map(async id => {
  const m = await tools.look({id});
  return m.v % 2 === 0 ? tools.put({id, text: 'x' + m.v + ' ' + Date.now() + ' ' + Math.random()}) : null;
}));
let ok = first.filter(x => x).length;
for (const id of ids.slice(0, 4)) { try { await tools.put({id: 100 + id, text: 'in a row'}); ok++ } catch (e) {} }
return ok;
""".replace("return m.v % 2 === 0 ? tools.put", "if (m.v % 2 !== 0) return null; try { return await tools.put").replace(
    " : null;", " } catch (e) { return null }"
)


class Tools:
    """The tools as a plugin.

    Args:
        directory: where the effects are written.
    """

    def __init__(self, directory):
        self._effects = directory / "effects.log"
        with (directory / "running").open("w+b") as file:
            file.write(bytes(1))
            file.flush()
            self._running = mmap.mmap(file.fileno(), 1)

    @contextmanager
    def counted(self):
        self._running[0] += 1
        try:
            yield
        finally:
            self._running[0] -= 1

    @hookimpl
    def register_tools(self, register):
        """Register them."""

        @tool(read_only=True)
        async def listing(n: int) -> dict:
            """List ids."""
            with self.counted():
                return {"ids": list(range(n))}

        @tool(read_only=True)
        async def look(id: int) -> dict:  # noqa: A002  # as models call it
            """Look at one; what is there changes all the time."""
            with self.counted():
                await asyncio.sleep(random.random() * 0.004)
                return {"v": id * 3 % 7, "moment": time.time_ns()}

        @tool
        async def put(id: int, text: str) -> str:  # noqa: A002
            """Have an effect."""
            with self.counted():
                await asyncio.sleep(random.random() * 0.004)
                descriptor = os.open(self._effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
                os.write(descriptor, f"{id}\n".encode())
                os.close(descriptor)
                await asyncio.sleep(random.random() * 0.004)
                return "done"

        for each in (listing, look, put, script):
            register(each)


@tool(timeout_seconds=60)
async def script(context: ToolContext) -> int:
    """Do the same in Python."""
    begun = await begin_script(context, "as this file has it", engine="python")

    async def one(number: int) -> int:
        found = await context.call_tool("look", {"id": number})
        if found.result["v"] % 2:
            return 0
        text = f"x{found.result['moment']} {begun.started_ms}"
        return (await context.call_tool("put", {"id": number, "text": text})).is_success

    ids = (await context.call_tool("listing", {"n": 8})).result["ids"]
    ok = sum(await asyncio.gather(*map(one, ids)))
    for number in ids[:4]:
        ok += (await context.call_tool("put", {"id": 100 + number, "text": "in a row"})).is_success
    await begun.end()
    return ok


def answers(language):
    """Return a model that calls the script once, then says what it came to."""
    called = (
        ("script", "{}") if language == "python" else ("js_eval", json.dumps({"code": CODE, "timeout_seconds": 60}))
    )

    def answer(request):
        last = request.messages[-1]
        if last.type is MessageType.USER:
            return ModelResponse(tool_calls=(ToolCall("c1", *called),))
        return ModelResponse(text=last.content)

    return answer


def run(directory, language, environ, sender):
    """Begin the turn, or finish it.

    Args:
        directory: of the home.
        language: ``python`` or ``javascript``.
        environ: of the home.
        sender: is sent ``ready`` before the turn, and its text after it.
    """
    os.environ.update(environ)
    random.seed()
    plugins = [Tools(directory), *([] if language == "python" else ["javascript"])]
    home = HomeUnderTest(directory / "home", directory, plugins, check_plugins=False, environ=environ)
    home.model.then(answers(language)).then(answers(language))

    async def main():
        async with home.opened() as app:
            session = await app.store.find_session("test")
            is_begun = session is not None and await app.store.count_messages(session.id) > 0
            sender.send("ready")
            options = {"session": "test", "model": "scripted/model"}
            events = app.resume(**options) if is_begun else app.send_message("go", **options)
            async for event in events:
                if isinstance(event, TurnFinishedEvent):
                    sender.send(event.text)

    asyncio.run(main())
