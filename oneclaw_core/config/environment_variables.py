"""The environment variables of the user's own tools: in a file that no listing shows and only its owner can read."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from oneclaw_core.errors import NotFoundError, OneClawError, UsageError
from oneclaw_core.secrets.redaction import remember_secret
from oneclaw_core.system.private_files import changing_private, read_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oneclaw_core.system.home import Home

MAX_VALUE_CHARACTERS = 65_536
_MAX_FILE_BYTES = 4_000_000
_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


class EnvironmentVariables:
    """The environment variables that the user's own tools see.

    Args:
        home: whose variables.
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.path / "environment.json"

    def names(self) -> list[str]:
        """The names, in alphabetical order.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        return sorted(self._read())

    def values(self) -> dict[str, str]:
        """All values by their names, each remembered as a secret that no log or error may show.

        Raises:
            OneClawError: the file is open to others or damaged.
        """
        values = self._read()
        for name, value in values.items():
            remember_secret(value, f"{self._path} {name}")
        return values

    def set(self, name: str, value: str) -> bool:
        """Store a value.

        Returns:
            Whether it replaced another one.

        Raises:
            UsageError: the name or the value does not fit, or all values together are too long.
            OneClawError: the file cannot be written.
        """
        self.check(name, value)
        remember_secret(value, f"{self._path} {name}")
        with self._changing() as values:
            was_set = name in values
            values[name] = value
        return was_set

    def check(self, name: str, value: str) -> None:
        """Refuse what :meth:`set` would refuse.

        Raises:
            UsageError: the name or the value does not fit.
        """
        if not _VARIABLE_NAME.fullmatch(name):
            raise UsageError(
                f"{name[:200]!r} is not a valid name for a variable: use 1 to 128 letters, digits and '_', not "
                "beginning with a digit"
            )
        if len(value) > MAX_VALUE_CHARACTERS or "\0" in value:
            raise UsageError(f"a value has at most {MAX_VALUE_CHARACTERS} characters, and no NUL among them")

    def remove(self, name: str) -> bool:
        """Forget a value.

        Returns:
            Whether there was one.
        """
        with self._changing() as values:
            return values.pop(name, None) is not None

    def require(self, name: str) -> None:
        """Refuse a name that is not set.

        Raises:
            NotFoundError: it is not.
        """
        if name not in self._read():
            raise NotFoundError(f"no variable {name!r} is set; see: oneclaw env list")

    @contextmanager
    def _changing(self) -> Iterator[dict[str, str]]:
        self._home.create()
        with changing_private(self._path, self._home.locks / "environment.lock", "the variables"):
            values = self._read()
            before = dict(values)
            yield values
            if values != before:
                self._write(values)

    def _write(self, values: dict[str, str]) -> None:
        content = json.dumps({"variables": values}, indent=2).encode()
        if len(content) > _MAX_FILE_BYTES:  # no one could read it any more, nor take anything out of it
            raise UsageError(
                f"all variables together would take more than {_MAX_FILE_BYTES // 1_000_000} MB: remove one first, "
                "with: oneclaw env remove NAME"
            )
        write_private(self._path, content)

    def _read(self) -> dict[str, str]:
        content = read_private(self._path, _MAX_FILE_BYTES)
        if content is None:
            return {}
        with suppress(ValueError, RecursionError, TypeError, KeyError, AttributeError):
            values = json.loads(content)["variables"]
            if all(isinstance(value, str) for value in values.values()):
                return dict(values)
        raise OneClawError(
            f"{self._path} is damaged: put a backup copy in its place, or delete it and set the variables again"
        )
