"""A model whose answers a function makes."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.testing.scripted import counted, streamed
from oneclaw_core.types.model_requests import ModelInfo, ModelRequest, ModelResponse

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from oneclaw_core.types.model_requests import ModelEvent

AnswerFunction = Callable[[ModelRequest], "str | ModelResponse | Awaitable[str | ModelResponse]"]
"""Answers a request, with a text or a ``ModelResponse``; may be async, and may raise."""


class FunctionModel:
    """A model that a function answers for. A turn takes it as its model, in a program that opens ``OneClaw`` itself.

    ::

        model = FunctionModel(lambda request: f"You said: {request.messages[-1].content}")
        claw.send_message("Hello", model=model)

    Args:
        function: makes the answer to a request. What it raises is raised to the turn, such as a ``ProviderError``.
        name: of the model, in events and usage after ``function/``.

    Attributes:
        requests: everything that the model was sent, in order.
    """

    attachment_media_types = ("image/", "audio/", "application/pdf")
    config = ProviderConfig(name="function", type="function", is_local=True)

    def __init__(self, function: AnswerFunction, *, name: str = "model") -> None:
        self.requests: list[ModelRequest] = []
        self.name = name
        self._function = function

    @property
    def provider(self) -> FunctionModel:
        """The model itself, which is asked."""
        return self

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request by the function."""
        self.requests.append(request)
        made = self._function(request)
        answer = await made if inspect.isawaitable(made) else made
        response = ModelResponse(text=answer) if isinstance(answer, str) else answer
        for event in streamed(counted(response, request)):
            yield event

    async def list_models(self) -> list[ModelInfo]:
        """Return the one model there is."""
        return [ModelInfo(name=self.name)]

    async def aclose(self) -> None:
        """Close nothing: nothing is open."""
