"""Registrations by name: data that can be cached, with an object that is loaded when it is needed."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import click

# Registered by ``register_providers`` too, and kept apart from the types.
PRECONFIGURED_HOOK = "register_providers.preconfigured"


@dataclass(frozen=True, slots=True)
class Registration:
    """One thing that a plugin has registered.

    Attributes:
        hook: the registration hook, such as ``register_services``.
        plugin: the plugin's name.
        name: unique among what the plugin registers by this hook.
        target: where the object is, as ``module:attribute``; ``None`` if only the loaded plugin has it.
        options: what else was given, as JSON data.
        value: the object, where this process has it; not cached.
    """

    hook: str
    plugin: str
    name: str
    target: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the registration as JSON data, without its object."""
        return {"hook": self.hook, "name": self.name, "target": self.target, "options": dict(self.options)}


def target_name(value: object) -> str | None:
    """Return the name by which an object can be imported, ``None`` if it has none.

    Args:
        value: a name ``module:attribute``, or a function or class at the top of a module.

    Raises:
        PluginError: the value is a text of another form.
    """
    if isinstance(value, str):
        module, colon, attribute = value.partition(":")
        if not (module and colon and attribute) or not all(
            part.isidentifier() for part in (*module.split("."), *attribute.split("."))
        ):
            raise PluginError(f"{value!r} names no object: write it as 'package.module:attribute'")
        return value
    place = _place_of(value)
    return place if place is not None and _is_at(place, value) else None


def command_place(command: click.Command) -> str | None:
    """Return the name by which a click command can be imported, ``None`` if it has none.

    Args:
        command: of a module that is imported, where it has its function's name.
    """
    place = _place_of(command.callback)
    return place if place is not None and _is_at(place, command) else None


def _place_of(value: object) -> str | None:
    """Return where a function or class says that it is."""
    where, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(where, str) or not isinstance(name, str) or where == "__main__":
        return None
    return f"{where}:{name}" if all(part.isidentifier() for part in name.split(".")) else None


def _is_at(place: str, value: object) -> bool:
    module, _, attribute = place.partition(":")
    try:
        return attrgetter(attribute)(sys.modules.get(module)) is value
    except AttributeError:
        return False
