"""Programs that embed OneClaw: plugins as objects, tools of the program, and its dependencies."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from oneclaw_core import Deny, NotFoundError, OneClaw, ToolContext, ToolGroupDefinition, hookimpl, tool
from oneclaw_core.tools import DuplicateToolError


@dataclass
class Database:
    """A dependency of the program that belongs to one event loop."""

    loop: asyncio.AbstractEventLoop
    rows: list[str] = field(default_factory=list)

    async def insert(self, row):
        assert asyncio.get_running_loop() is self.loop
        await asyncio.sleep(0)
        self.rows.append(row)
        return len(self.rows)


@tool
async def add_order(item: str, context: ToolContext) -> int:
    """Add an order.

    Args:
        item: the thing ordered.
    """
    return await context.deps.insert(item)


@tool
def count_orders(context: ToolContext) -> int:
    """Count the orders."""
    return len(context.deps.rows)


@tool(group="orders")
def grouped(context: ToolContext) -> str:
    """Return the plugin's name."""
    return context.plugin.name


class Policy:
    @hookimpl
    async def before_tool_call(self, call):
        return Deny("closed") if call.tool == "add_order" else None


def test_tools_of_the_program_get_its_dependencies_on_its_own_event_loop(tmp_path):
    async def main():
        database = Database(asyncio.get_running_loop())
        async with OneClaw.open(tmp_path, plugins=["builtin", "offline"], deps=database) as claw:
            claw.add_tools(add_order, count_orders)
            assert (await claw.call_tool("add_order", {"item": "tea"})).result.result == 1
            assert (await claw.call_tool("count_orders")).result.result == 1
        assert database.rows == ["tea"]

    asyncio.run(main())


def test_tools_of_the_program_are_attributed_to_it(tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, plugins=["builtin", "offline"]) as claw:
            claw.add_tools(add_order, group=ToolGroupDefinition("shop", "Shop", "Sells tea"))
            claw.add_tools(count_orders, group="counting")
            claw.add_tools(grouped)
            registry = claw.catalog.registry
            sources = {name: registry.get_source_info(name) for name in ("add_order", "count_orders", "grouped")}
            assert {each.plugin for each in sources.values()} == {"program"}
            assert [each.group_name for each in sources.values()] == ["shop", "counting", "orders"]
            assert registry.get_group_definition("shop").description == "Sells tea"
            assert registry.get_group_definition("counting") is not None
            assert (await claw.call_tool("grouped")).result.result == "program"
            with pytest.raises(DuplicateToolError):
                claw.add_tools(grouped)

    asyncio.run(main())


def test_an_object_with_hooks_is_a_plugin(tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, plugins=["builtin", "offline", Policy()]) as claw:
            claw.add_tools(add_order)
            result = (await claw.call_tool("add_order", {"item": "tea"})).result
            assert result.error_message == "The plugin Policy refuses this: closed"

    asyncio.run(main())


def test_a_module_with_hooks_is_a_plugin(tmp_path):
    module = ModuleType("my_program.hooks")
    module.before_tool_call = hookimpl(lambda call: Deny("closed"))

    async def main():
        async with OneClaw.open(tmp_path, plugins=[module]) as claw:
            assert [each.name for each in claw.catalog.plugins if each.name != "user"] == ["hooks"]
            claw.add_tools(count_orders)
            assert "plugin hooks refuses" in (await claw.call_tool("count_orders")).result.error_message

    asyncio.run(main())


def test_an_unknown_name_of_a_plugin_is_refused(tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, plugins=["no_such_plugin"]):
            pass

    with pytest.raises(NotFoundError, match="no_such_plugin"):
        asyncio.run(main())


def test_a_plugin_asks_the_users_model_and_its_usage_is_accounted(oneclaw_factory):
    answers = []

    class Asks:
        __name__ = "asks"

        @hookimpl
        async def plugin_started(self, context):
            answers.append(await context.ask_model("Name a colour."))
            schema = {"type": "object", "properties": {"hex": {"type": "string"}}, "required": ["hex"]}
            answers.append(await context.ask_model("As a number.", schema))

    home = oneclaw_factory([Asks()])
    home.model.says("red").says("no JSON").says('```json\n{"hex": "ff0000"}\n```')
    home.run(home.app.store.set_setting("model", "scripted/model"))
    home.run(home.app.plugins.context_of("asks"))
    assert answers == ["red", {"hex": "ff0000"}]
    session = home.run(home.app.store.find_session("plugin asks"))
    assert home.run(home.app.store.usage_totals(session.id)).requests == 3


def test_dependencies_reach_tools_behind_a_starlette_app(tmp_path):
    @asynccontextmanager
    async def lifespan(app):
        database = Database(asyncio.get_running_loop())
        async with OneClaw.open(tmp_path, plugins=["builtin", "offline"], deps=database) as claw:
            claw.add_tools(add_order)
            app.state.claw, app.state.database = claw, database
            yield

    async def order(request):
        outcome = await request.app.state.claw.call_tool("add_order", {"item": request.path_params["item"]})
        return JSONResponse({"number": outcome.result.result, "rows": request.app.state.database.rows})

    app = Starlette(routes=[Route("/orders/{item}", order)], lifespan=lifespan)

    async def main():
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://shop") as http,
        ):
            assert (await http.get("/orders/tea")).json() == {"number": 1, "rows": ["tea"]}

    asyncio.run(main())
