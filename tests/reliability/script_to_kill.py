"""Run a script until the process is killed, or go on with it; started by test_killed_scripts.

Arguments: the directory of the home; ``python`` or ``javascript``.

Each effect is a line in ``effects.log``, written by a tool that cannot be repeated.
"""

import asyncio
import json
import os
import random
import sys
import time
from pathlib import Path

from oneclaw_core import ToolContext, TurnFinishedEvent, hookimpl, tool
from oneclaw_core.providers import ModelResponse
from oneclaw_core.scripts import begin_script
from oneclaw_core.types.messages import MessageType, ToolCall

HOME, LANGUAGE = Path(sys.argv[1]), sys.argv[2]
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


@tool(read_only=True)
async def listing(n: int) -> dict:
    """List ids."""
    return {"ids": list(range(n))}


@tool(read_only=True)
async def look(id: int) -> dict:  # noqa: A002  # as models call it
    """Look at one; what is there changes all the time."""
    await asyncio.sleep(random.random() * 0.004)
    return {"v": id * 3 % 7, "moment": time.time_ns()}


@tool
async def put(id: int, text: str) -> str:  # noqa: A002
    """Have an effect."""
    await asyncio.sleep(random.random() * 0.004)
    descriptor = os.open(HOME / "effects.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{id}\n".encode())
    os.close(descriptor)
    await asyncio.sleep(random.random() * 0.004)
    return "done"


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


class Tools:
    """The tools as a plugin."""

    @hookimpl
    def register_tools(self, register):
        """Register them."""
        for each in (listing, look, put, script):
            register(each)


def answer(request):
    """Call the script once, then say what it came to."""
    last = request.messages[-1]
    if last.type is MessageType.USER:
        called = (
            ("script", "{}") if LANGUAGE == "python" else ("js_eval", json.dumps({"code": CODE, "timeout_seconds": 60}))
        )
        return ModelResponse(tool_calls=(ToolCall("c1", *called),))
    return ModelResponse(text=last.content)


async def main():
    """Begin the turn, or finish it."""
    from pytest_oneclaw.home_under_test import HomeUnderTest

    plugins = [Tools()] if LANGUAGE == "python" else [Tools(), "javascript"]
    environ = {name: value for name, value in os.environ.items() if name.startswith("ONECLAW_")}
    home = HomeUnderTest(HOME / "home", HOME, plugins, check_plugins=False, environ=environ)
    home.model.then(answer).then(answer)
    async with home.opened() as app:
        session = await app.store.find_session("test")
        is_begun = session is not None and await app.store.count_messages(session.id) > 0
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        options = {"session": "test", "model": "scripted/model"}
        events = app.resume(**options) if is_begun else app.send_message("go", **options)
        async for event in events:
            if isinstance(event, TurnFinishedEvent):
                sys.stdout.write(f"{event.text}\n")


asyncio.run(main())
