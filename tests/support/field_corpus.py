"""The corpus of the field: what services, servers and clients of today send, and what is right (``tests/field``).

::

    @pytest.mark.parametrize("observed", observations("schema"))
    def test_a_schema_of_the_field(observed):
        assert takes(observed.content) == observed.right["is_taken"]
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

FIELD = Path(__file__).parents[1] / "field"
RIGHT = "right.toml"


@dataclass(frozen=True)
class Observation:
    """Something that a service, a server or a client sends.

    Attributes:
        path: of its file.
        kind: chooses the test that reads it.
        source: the public description.
        right: what is right, by the words of its kind.
    """

    path: Path
    kind: str
    source: str
    right: dict[str, Any]

    @property
    def service(self) -> str:
        return self.path.parent.name

    @property
    def content(self) -> bytes:
        return self.path.read_bytes()


def all_observations() -> list[Observation]:
    """Read all folders."""
    found = []
    for lines in sorted(FIELD.glob(f"*/{RIGHT}")):
        for name, line in tomllib.loads(lines.read_text("utf-8")).items():
            found.append(Observation(lines.parent / name, line.pop("kind"), line.pop("source"), line))
    return found


def observations(*kinds: str) -> list[Any]:
    """Return the observations of some kinds as parameters of a test."""
    return [
        pytest.param(each, id=f"{each.service}/{each.path.name}") for each in all_observations() if each.kind in kinds
    ]
