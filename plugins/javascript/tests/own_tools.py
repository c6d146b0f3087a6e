"""A home with tools of the user's own, and calling them."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from oneclaw_javascript.user_tools.registered import RegisteredTools

from oneclaw_core import OneClaw, PermissionAnswer

if TYPE_CHECKING:
    from pathlib import Path


class OwnTools:
    """Files in the folder ``tools`` of a home, and what comes of them; no other plugin is loaded."""

    def __init__(self, home: Path, environ: dict[str, str] | None = None) -> None:
        self.home = home
        self.folder = home / "tools"
        self.folder.mkdir(parents=True)
        self.environ = environ or {}
        self.asked: list[str] = []
        self.answer = PermissionAnswer.NO

    def write(self, name: str, code: str = "", **manifest: object) -> None:
        """Write a tool by hand, as a pair of files."""
        document = {"name": name, "description": f"Test {name}.", **manifest}
        (self.folder / f"{name}.json").write_text(json.dumps(document))
        (self.folder / f"{name}.js").write_text(code or "function execute() { return 'done' }")

    def write_group(self, file: str, entries: list[dict], code: str) -> None:
        """Write a group file by hand."""
        (self.folder / f"{file}.json").write_text(json.dumps(entries))
        (self.folder / f"{file}.js").write_text(code)

    plugins = ("javascript",)

    def opened(self):
        """Open the home."""

        async def ask(request):
            self.asked.append(request.permission)
            return self.answer

        return OneClaw.open(self.home, environ=self.environ, plugins=self.plugins, ask=ask)

    def run(self, work):
        """Do something with the open home."""

        async def run():
            async with self.opened() as claw:
                return await work(claw)

        return asyncio.run(run())

    def call(self, *calls: tuple[str, dict]) -> list:
        """Call tools one after the other; give their results."""

        async def work(claw):
            return [(await claw.call_tool(name, arguments)).result for name, arguments in calls]

        return self.run(work)

    def names(self) -> list[str]:
        """The tools that there are."""

        async def work(claw):
            return [name for name in claw.catalog.registry.get_all_tool_names() if name != "js_eval"]

        return self.run(work)

    def problems(self) -> list[str]:
        """What is reported of the files."""

        async def work(claw):
            return [problem.cause for problem in (await user_tools(claw)).problems]

        return self.run(work)


async def user_tools(claw: OneClaw) -> RegisteredTools:
    """Look at the files, and return the user's own tools of an open home."""
    return await RegisteredTools.of(claw.services)


def user_record(claw: OneClaw):
    """Return the record by which the tools are listed like a plugin, ``None`` if they are not."""
    return next((record for record in claw.catalog.plugins if record.name == "user"), None)
