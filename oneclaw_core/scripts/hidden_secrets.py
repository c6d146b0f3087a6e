"""Known secrets in the journal of a script: placeholders stand for them, and the script gets them back."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING

from oneclaw_core.secrets.redaction import REDACTED, SHORTEST_SECRET_CHARACTERS, Redaction

if TYPE_CHECKING:
    from collections.abc import Iterator

# A text that has the first character itself has ``⟪!`` in its place, so that no one else's text is a placeholder.
_BEGIN = "⟪"
_PLACEHOLDER = re.compile(r"⟪(?:!|redacted ([0-9a-f]{4})⟫)")
# Tells secrets of one home apart, and is too short to find out a secret by trying.
_DIGEST_BYTES = 2


class HiddenSecrets:
    """Hides known secrets in texts that are stored, and restores them as long as they are known.

    Args:
        salt: makes placeholders those of one script.
    """

    def __init__(self, salt: str) -> None:
        self._salt = blake2b(salt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        self._redaction = Redaction()

    def hide(self, text: str) -> str:
        """Return a text with placeholders for the secrets in it."""
        found = sorted((each for each in self._known() if each in text), key=len, reverse=True)
        if not found and _BEGIN not in text:
            return text
        pattern = "|".join(map(re.escape, (*found, _BEGIN)))
        return re.sub(pattern, lambda match: self._in_place_of(match[0]), text)

    def restore(self, text: str) -> str | None:
        """Return the text that was hidden; ``None`` if a secret in it is not known any more."""
        if _BEGIN not in text:
            return text
        secrets: dict[str, set[str]] = {}
        for each in self._known():
            secrets.setdefault(self._digest(each), set()).add(each)
        wanted = {match[1] for match in _PLACEHOLDER.finditer(text) if match[1]}
        if any(len(secrets.get(each, ())) != 1 for each in wanted):
            return None
        return _PLACEHOLDER.sub(lambda match: next(iter(secrets[match[1]])) if match[1] else _BEGIN, text)

    def _in_place_of(self, found: str) -> str:
        return f"{_BEGIN}!" if found == _BEGIN else f"{_BEGIN}redacted {self._digest(found)}⟫"

    def _known(self) -> Iterator[str]:
        """Yield the known secrets as they stand in a text and in JSON."""
        for secret in self._redaction.secrets:
            if len(secret) >= SHORTEST_SECRET_CHARACTERS:
                yield from {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}

    def _digest(self, secret: str) -> str:
        return blake2b(secret.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES, key=self._salt).hexdigest()


def without_placeholders(text: str) -> str:
    """Return a text of the journal for people."""
    return _PLACEHOLDER.sub(lambda match: REDACTED if match[1] else _BEGIN, text)
