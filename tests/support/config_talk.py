"""Fixtures for the tools of the plugin config: a home, and calls of the tools in it."""

import asyncio

import pytest

from oneclaw_core import OneClaw, PermissionAnswer


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENAI_BASE_URL", "ONECLAW_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


class Talk:
    """Calls tools one after the other in one open home, and notes what the user is asked."""

    def __init__(self, home, environ, answer):
        self.home = home
        self.environ = environ
        self.answer = answer
        self.asked = []

    def __call__(self, *calls):
        """Run ``(name, arguments)`` calls; give their results."""

        async def ask(request):
            self.asked.append((request.permission, request.detail))
            return self.answer

        async def run():
            async with OneClaw.open(self.home, ask=ask, environ=self.environ) as claw:
                return [(await claw.call_tool(name, arguments)).result for name, arguments in calls]

        return asyncio.run(run())

    def say(self, model):
        """Have a model answer a message in a new session."""

        async def run():
            async with OneClaw.open(self.home, environ=self.environ) as claw:
                async for _ in claw.send_message("Hi", model=model):
                    pass

        asyncio.run(run())


@pytest.fixture
def talk(home):
    return Talk(home, {}, PermissionAnswer.ONCE)


@pytest.fixture
def denied_talk(home):
    return Talk(home, {}, PermissionAnswer.NO)
