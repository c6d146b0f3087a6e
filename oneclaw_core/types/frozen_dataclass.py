"""Frozen dataclasses that are quick to make.

``dataclasses.dataclass(frozen=True, slots=True)`` compiles six methods for each class, and a program that answers one
message imports hundreds of such classes. These compile only ``__init__`` and share the other methods; docs/decisions.md
says what that saves. In everything else they are frozen dataclasses: ``dataclasses.fields``, ``replace`` and ``asdict``
work on them, and so do pickling, pattern matching, and plain dataclasses that inherit from them.
"""

from __future__ import annotations

import sys
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from inspect import signature
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Class = TypeVar("_Class", bound=type)


class _Made:
    """The default of an argument that a function makes, as signatures show it."""

    def __repr__(self) -> str:
        return "<factory>"


_MADE = _Made()


@overload
def frozen_dataclass(cls: _Class, /) -> _Class: ...
@overload
def frozen_dataclass(*, kw_only: bool = False) -> Callable[[_Class], _Class]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field, Field))
def frozen_dataclass(cls: Any = None, /, *, kw_only: bool = False) -> Any:
    """Make a class a frozen dataclass with slots.

    Args:
        cls: the class, for use without parentheses.
        kw_only: True if all arguments are given by name.
    """

    def made(given: type) -> Any:
        written = set(given.__dict__)  # the next step adds to it
        has_docstring = given.__doc__ is not None
        has_base = hasattr(given, "__dataclass_fields__")  # which is frozen, and its subclasses have to be
        new: Any = dataclass(init=False, repr=False, eq=False, frozen=has_base, slots=True, kw_only=kw_only)(given)
        # For plain dataclasses that inherit from it.
        new.__dataclass_params__.frozen = True
        stored = fields(new)
        if "__init__" not in written:
            new.__init__ = _init(new, stored)
        if not has_docstring:
            new.__doc__ = f"{new.__name__}{signature(new)}".removesuffix(" -> None")
        new.__compared__ = _getter([each.name for each in stored if each.compare])
        new.__hashed__ = _getter([each.name for each in stored if (each.compare if each.hash is None else each.hash)])
        new.__shown__ = tuple(each.name for each in stored if each.repr)
        for name, method in _SHARED.items():
            if name not in written:
                setattr(new, name, method)
        return new

    return made if cls is None else made(cls)


def _getter(names: Sequence[str]) -> Callable[[Any], Any]:
    return attrgetter(*names) if names else lambda _: ()


def _init(cls: Any, stored: Sequence[Field[Any]]) -> Callable[..., None]:
    """Compile the ``__init__`` of a class, which sets the slots past ``__setattr__``."""
    known: dict[str, Any] = {"_made": _MADE}
    positional, named, lines = ["self"], ["*"], []
    for each in stored:
        name = each.name
        known[f"_set_{name}"] = getattr(cls, name).__set__
        value, default = name, ""
        if each.default_factory is not MISSING:
            known[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _made else {name}" if each.init else f"_make_{name}()"
            default = "=_made"
        elif each.default is not MISSING:
            known[f"_default_{name}"] = each.default
            value, default = name if each.init else f"_default_{name}", f"=_default_{name}"
        elif not each.init:
            continue  # __post_init__ sets it
        lines.append(f"_set_{name}(self, {value})")
        if each.init:
            (named if each.kw_only else positional).append(name + default)
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    arguments = ", ".join(positional + (named if len(named) > 1 else []))
    body = "\n  ".join([f" def __init__({arguments}):", *(lines or ["pass"])])
    # A function of the module of the class, where the names in its annotations are looked up.
    module = sys.modules[cls.__module__].__dict__ if cls.__module__ in sys.modules else {}
    made: dict[str, Any] = {}
    exec(f"def make({', '.join(known)}):\n{body}\n return __init__", module, made)  # noqa: S102  # of names in our code
    init: Callable[..., None] = made["make"](**known)
    init.__qualname__, init.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    init.__annotations__ = {each.name: each.type for each in stored if each.init} | {"return": None}
    return init


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__shown__)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__class__.__compared__
    return compared(self) == compared(other)


def _hash(self: Any) -> int:
    return hash(self.__class__.__hashed__(self))


def _setattr(self: Any, name: str, value: object) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(cls: Any, name: str) -> bool:
    """Return True unless a plain class, which inherits from a frozen one, has an attribute besides the fields."""
    return "__dataclass_params__" in cls.__dict__ or name in cls.__dataclass_fields__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, each.name) for each in fields(self)]


def _setstate(self: Any, state: list[Any]) -> None:
    for each, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


_SHARED: dict[str, Any] = {
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
