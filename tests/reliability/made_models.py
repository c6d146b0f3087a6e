"""Models and tools made by tests, brought into a home as plugins bring them."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from pytest_oneclaw.chosen_plugins import chosen_plugins

from oneclaw_core import OneClaw, hookimpl
from oneclaw_core.config.providers import MODEL_SETTING, PROVIDER_SETTING
from oneclaw_core.installation.given_plugins import given_plugin
from oneclaw_core.types.model_requests import ModelInfo

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
    from pathlib import Path

    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest

MODEL = "made/model"


class MadeProvider:
    """A provider whose answers a function makes."""

    attachment_media_types = ("image/",)
    loads_natively = False

    def __init__(self, answer: Callable[[ModelRequest], AsyncGenerator[ModelEvent, None]]) -> None:
        self._answer = answer

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        async for event in self._answer(request):
            yield event

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(name="model")]

    async def aclose(self) -> None:
        """Nothing is open."""


class MadePlugin:
    """Brings the provider and some tools, functions with ``@tool``."""

    def __init__(self, answer: Any, tools: tuple[Any, ...]) -> None:
        self._answer = answer
        self._tools = tools

    @hookimpl
    def register_providers(self, register: Any) -> None:
        register("made", lambda config: MadeProvider(self._answer))

    @hookimpl
    def register_tools(self, register: Any) -> None:
        for each in self._tools:
            register(each)


@asynccontextmanager
async def opened(
    home: Path, answer: Any, *tools: Any, allow: Iterable[str] = (), **environ: str
) -> AsyncIterator[OneClaw]:
    """Open a home whose model answers by a function."""
    points = [*chosen_plugins(()), given_plugin(MadePlugin(answer, tools), "made")]
    async with OneClaw.open(
        home,
        allow=allow,
        environ={"ONECLAW_MODEL": MODEL, **environ},
        start_directory=home.parent,
        plugins=points,
    ) as claw:
        await claw.store.set_setting(f"{PROVIDER_SETTING}made", {"type": "made"})
        await claw.store.set_setting(MODEL_SETTING + MODEL, {"input_price": 1, "output_price": 2})
        yield claw
