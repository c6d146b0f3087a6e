"""JSON data that plugins can read and not change."""

from __future__ import annotations

from typing import Any, NoReturn


def frozen(value: Any) -> Any:
    """Return a deep copy of JSON data whose objects and arrays cannot be changed.

    They are dicts and lists still, so that ``json.dumps`` and comparisons work. Data may be nested as deeply as
    ``json.loads`` allows, hence the loop in place of recursion.
    """
    waiting: list[tuple[Any, FrozenDict | FrozenList]] = []
    copy = _begun(value, waiting)
    while waiting:
        source, target = waiting.pop()
        if isinstance(target, FrozenDict):
            for key, each in source.items():
                dict.__setitem__(target, key, _begun(each, waiting))
        else:
            for each in source:
                list.append(target, _begun(each, waiting))
    return copy


def _begun(value: Any, waiting: list[tuple[Any, FrozenDict | FrozenList]]) -> Any:
    """Return a value, or an empty copy of an object or array, which is noted to be filled."""
    if isinstance(value, dict):
        copy: FrozenDict | FrozenList = FrozenDict()
    elif isinstance(value, list | tuple):
        copy = FrozenList()
    else:
        return value
    waiting.append((value, copy))
    return copy


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    raise TypeError("what a hook is called with cannot be changed: make a copy with copy.deepcopy, and return that")


class FrozenDict(dict[str, Any]):
    """A JSON object."""

    __slots__ = ()
    __setitem__ = __delitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
    __ior__ = _refuse

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return {key: _thawed(value) for key, value in self.items()}

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (_thawed(self),)


class FrozenList(list[Any]):
    """A JSON array."""

    __slots__ = ()
    __setitem__ = __delitem__ = _refuse
    append = extend = insert = remove = clear = sort = reverse = _refuse
    pop = _refuse
    __iadd__ = __imul__ = _refuse

    def __deepcopy__(self, memo: object) -> list[Any]:
        return [_thawed(value) for value in self]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (_thawed(self),)


def _thawed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _thawed(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_thawed(each) for each in value]
    return value
