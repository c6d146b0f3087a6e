"""A home with a tool that changes the project as a test says, and ways to take that back."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from oneclaw_checkpoints.undoing import carry_out, found_session, planned

from oneclaw_core import ToolContext, hookimpl, tool


class Program:
    """A plugin whose tool may change any file, as a shell does; a test says what it does."""

    def __init__(self):
        self.work = lambda: None

    @hookimpl
    def register_tools(self, register):
        @tool(required_permissions=["shell.execute"])
        def run_program() -> str:
            """Run the program."""
            self.work()
            return "done"

        @tool
        async def delegate(context: ToolContext) -> str:
            """Have a sub-agent do it."""
            async for _ in context.send_message("do it"):
                pass
            return "done"

        @tool
        async def write_all(paths: list[str], context: ToolContext) -> list:
            """Write files by calls of the tool for that."""
            results = [await context.call_tool("write_file", {"path": each, "content": "new"}) for each in paths]
            return [each.error_type for each in results]

        register(run_program)
        register(write_all)
        register(delegate)


@pytest.fixture
def program():
    return Program()


@pytest.fixture
def project(oneclaw_project):
    return oneclaw_project


@pytest.fixture
def home(oneclaw_factory, program):
    """A home whose user trusts the project."""
    return oneclaw_factory(plugins=["checkpoints", program], allow=["directory.trust", "files.write", "shell.execute"])


@pytest.fixture
def undoing(home):
    """Plan and carry out undos in the session of the test."""

    async def plan(**how):
        context = await home.app.plugins.context_of("checkpoints")
        return context, await planned(context, await found_session(context, "test"), **how)

    async def do(overwrite=(), **how):
        context, made = await plan(**how)
        return await carry_out(context, made.overwriting([str(each) for each in overwrite]))

    return SimpleNamespace(
        plan=lambda **how: home.run(plan(**how))[1],
        do=lambda overwrite=(), **how: home.run(do(overwrite, **how)),
        said=lambda: [each.content for each in home.run(_history(home)) if each.content],
    )


async def _history(home):
    session = await home.app.store.find_session("test")
    return await home.app.store.messages(session.id)
