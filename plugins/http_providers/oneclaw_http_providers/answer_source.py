"""The id of an answer, and the model that gave it, as the service names them. No I/O."""

from __future__ import annotations

from oneclaw_core.tools import clean_text
from oneclaw_http_providers.wire import text_member

_MOST_CHARACTERS = 200


class AnswerSource:
    """Takes the names from the chunks of an answer; the first ones count.

    Attributes:
        id: of the answer, ``None`` as long as the service gave none.
        model: the service's own name of the model that answers, ``None`` as long as it gave none.
    """

    def __init__(self) -> None:
        self.id: str | None = None
        self.model: str | None = None

    def note(self, said: object, id_key: str = "id", model_key: str = "model") -> None:
        """Look into an object of the service.

        Args:
            said: such as a chunk.
            id_key: where the id is.
            model_key: where the name of the model is.
        """
        self.id = self.id or _name(said, id_key)
        self.model = self.model or _name(said, model_key)


def _name(said: object, key: str) -> str | None:
    found = text_member(said, key)
    return None if found is None else clean_text(found)[:_MOST_CHARACTERS]
