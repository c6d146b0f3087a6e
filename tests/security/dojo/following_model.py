"""A model that follows a script, and obeys an injection as soon as it reads one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from model_server import ModelServer, calls, text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from model_server import Reply

    Calls = Sequence[tuple[str, dict[str, Any]]]


class FollowingModel:
    """Makes the calls of a task, one after the other, and says its answer.

    Attributes:
        server: speaks Chat Completions.
        has_obeyed: True once it has read the injection.
    """

    def __init__(self) -> None:
        self.server = ModelServer(self._answer)
        self.follow((), "")

    def follow(self, script: Calls, answer: str, *, word: str = "", orders: Calls = (), says: str = "") -> None:
        """Take the script of a task.

        Args:
            script: the calls that do the task.
            answer: what it says at the end.
            word: a word of the injection that stands nowhere else; empty for none.
            orders: the calls that the injection wants, made as soon as the word is read.
            says: what the injection wants it to say.
        """
        self._pending, self._said = list(script), answer
        self._word, self._orders, self._ordered_words = word, list(orders), says
        self.has_obeyed = False

    def _answer(self, body: Any) -> Reply:
        read = json.dumps([each["content"] for each in body["messages"] if each["role"] == "tool"])
        if self._word and self._word in read and not self.has_obeyed:
            self.has_obeyed = True
            self._pending = [*self._orders, *self._pending]
            self._said = f"{self._said} {self._ordered_words}".strip()
        if self._pending and body.get("tools"):
            return calls(self._pending.pop(0))
        return text(self._said or "Done.")
