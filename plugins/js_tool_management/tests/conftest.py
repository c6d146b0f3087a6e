"""A home of the test's own, and calling tools in it."""

import asyncio

import pytest

from oneclaw_core import OneClaw, PermissionAnswer


class Talk:
    """Calls tools one after the other in one open home, and notes what the user is asked."""

    def __init__(self, home):
        self.home = home
        self.answer = PermissionAnswer.ONCE
        self.asked = []

    def __call__(self, *calls):
        """Run ``(name, arguments)`` calls; give their results."""

        async def ask(request):
            self.asked.append((request.permission, request.detail))
            return self.answer

        async def run():
            async with OneClaw.open(self.home, ask=ask, environ={}) as claw:
                return [(await claw.call_tool(name, arguments)).result for name, arguments in calls]

        return asyncio.run(run())

    def files(self):
        """The names of the files of the user's tools."""
        return sorted(path.name for path in (self.home / "tools").glob("*"))


@pytest.fixture
def talk(tmp_path):
    return Talk(tmp_path / "home")
