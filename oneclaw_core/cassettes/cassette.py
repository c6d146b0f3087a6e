"""A model that replays what another one answered, and asks that one where it may."""

from __future__ import annotations

import os
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from oneclaw_core.cassettes.cassette_file import CassetteError, RecordedAnswer, read_cassette, write_cassette
from oneclaw_core.cassettes.conversation_key import KEY_KINDS, ConversationKeys, KeyKind
from oneclaw_core.errors import ProviderError
from oneclaw_core.providers.base import ProviderConfig
from oneclaw_core.turn.stream import closing
from oneclaw_core.types.model_requests import ModelInfo, ModelResponse, TextDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterable

    from oneclaw_core.providers.model_object import ModelObject
    from oneclaw_core.types.model_requests import ModelEvent, ModelRequest

RecordMode = Literal["none", "new", "all"]
RECORD_MODES: tuple[RecordMode, ...] = ("none", "new", "all")
_MOST_SHOWN = 10


class CassetteMissError(ProviderError):
    """A cassette has no answer to what a model is asked; the message names what it was, and what is not used."""


class Cassette:
    """A model that answers from a file. A turn takes it as its model.

    An answer is found by what was said and called before it, so tools run, and the system prompt and the definitions
    of tools may change. Secrets that OneClaw knows are replaced before anything is written.

    Args:
        path: of the file, JSON.
        key: ``conversation``, or ``strict`` for answers that depend on the system prompt, the tools and the texts of
            results too.
        normalise: regular expressions of what changes from run to run, each with what it is replaced by; paths, ids
            and times are replaced as well.
        record: ``none`` to replay only; ``new`` to ask the model where there is no answer; ``all`` to record all
            answers anew.
        model: asked when recording, as an object or as ``PROVIDER/MODEL`` with a key of the environment.

    Attributes:
        requests: everything that the model was sent, in order.

    Raises:
        CassetteError: the file is missing, or is none.
    """

    config = ProviderConfig(name="cassette", type="cassette", is_local=True)
    attachment_media_types = ("image/", "audio/", "application/pdf")

    def __init__(
        self,
        path: str | Path,
        *,
        key: KeyKind = "conversation",
        normalise: Iterable[tuple[str, str]] = (),
        record: RecordMode = "none",
        model: ModelObject | str | None = None,
    ) -> None:
        if key not in KEY_KINDS or record not in RECORD_MODES:
            raise CassetteError(
                f"key is one of {', '.join(KEY_KINDS)}, and record one of {', '.join(RECORD_MODES)}, "
                f"not {key!r} and {record!r}"
            )
        if record != "none" and model is None:
            raise CassetteError("name the model that is recorded: model='PROVIDER/MODEL', or a model object")
        self.path = Path(path)
        self.requests: list[ModelRequest] = []
        self._keys = ConversationKeys(key, tuple(normalise))
        self._record, self._model = record, model
        starts_empty = record == "all" or (record == "new" and not self.path.exists())
        self._entries = [] if starts_empty else read_cassette(self.path, key)
        self._unused = list(self._entries)

    @property
    def name(self) -> str:
        """The name of the model: that of the file."""
        return self.path.stem

    @property
    def provider(self) -> Cassette:
        """The model itself, which is asked."""
        return self

    @property
    def unused(self) -> tuple[RecordedAnswer, ...]:
        """The recorded answers that were not asked for."""
        return tuple(self._unused)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Answer a request from the file, or ask the model and record its answer.

        Raises:
            CassetteMissError: there is no answer, and none is recorded.
            ProviderError: the model could not be asked.
        """
        self.requests.append(request)
        key = self._keys.of(request)
        found = next((each for each in self._unused if each.key == key), None)
        if found is not None:
            self._unused.remove(found)
            for piece in found.pieces:
                yield TextDelta(piece)
            yield found.response()
            return
        if self._record == "none":
            raise CassetteMissError(self._miss(request))
        async with aclosing(self._recorded(request, key)) as events:
            async for event in events:
                yield event

    async def _recorded(self, request: ModelRequest, key: str) -> AsyncGenerator[ModelEvent, None]:
        pieces: list[str] = []
        async with (
            self._opened() as model,
            closing(model.provider.stream(replace(request, model=model.name))) as events,
        ):
            async for event in events:
                if isinstance(event, TextDelta):
                    pieces.append(event.text)
                elif isinstance(event, ModelResponse):
                    said, is_strict = self._keys.said(request.messages), self._keys.kind == "strict"
                    self._entries.append(RecordedAnswer.of(event, pieces, key, said, is_strict=is_strict))
                    write_cassette(self.path, self._keys.kind, self._entries)
                yield event

    @asynccontextmanager
    async def _opened(self) -> AsyncGenerator[ModelObject, None]:
        """Open the model that is recorded: a configured one in an empty home, with the keys of the environment."""
        assert self._model is not None
        if not isinstance(self._model, str):
            yield self._model
            return
        from tempfile import TemporaryDirectory

        from oneclaw_core.app import OneClaw

        environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
        with TemporaryDirectory(prefix="oneclaw-record-") as home:
            async with OneClaw.open(home, environ=environ) as claw, claw.configured_model(self._model) as model:
                yield model

    def _miss(self, request: ModelRequest) -> str:
        unused = "".join(f"\n  {each.said}" for each in self._unused[:_MOST_SHOWN])
        more = f"\n  and {len(self._unused) - _MOST_SHOWN} more" if len(self._unused) > _MOST_SHOWN else ""
        return (
            f"the cassette {self.path} has no answer to\n  {self._keys.said(request.messages)}\n"
            f"Its answers that are not used yet follow on:{unused or ' nothing, all are used'}{more}\n"
            "Record it with: pytest --oneclaw-record=new"
        )

    async def list_models(self) -> list[ModelInfo]:
        """Return the one model there is."""
        return [ModelInfo(name=self.name)]

    async def aclose(self) -> None:
        """Close nothing: nothing stays open."""
