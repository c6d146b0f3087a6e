"""Reading the YAML at the beginning of a ``SKILL.md`` of any author.

Only texts, lists and mappings come out: a version ``1.10`` stays what it says. Aliases, by which a few lines unfold to
gigabytes, and deep nesting are refused; no object is ever constructed.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

MAX_CHARACTERS = 16_384
_MAX_DEPTH = 8
# Reading brackets within brackets takes time that grows with the square of their number.
_MAX_BRACKETS = 500
_NULL = "tag:yaml.org,2002:null"
# ``description: Use it when: always`` is no YAML, but what people write and other programs take.
_UNQUOTED_COLON = re.compile(r"^([A-Za-z][\w-]*):[ \t]+(?![\"'|>\[{&*!%@`#])(.*(?:: .*|:))$")
# Importing YAML takes longer than all the rest of reading skills, and most front matter is as simple as this.
_SIMPLE_LINE = re.compile(r"([A-Za-z][\w-]{0,60}): ([A-Za-z][^:#]*)")


class FrontMatterError(Exception):
    """It is not YAML, or not of the kind that is taken.

    Attributes:
        line: within the front matter, from 1.
    """

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True, slots=True)
class Field:
    """A value with the place of its key.

    Attributes:
        value: a text, ``None`` for null, or a list or a mapping of such.
        line: within the front matter, from 1.
    """

    value: Any
    line: int


def read_fields(text: str) -> tuple[dict[str, Field], int | None]:
    """Read a mapping.

    Args:
        text: what stands between the two lines ``---``.

    Returns:
        The fields, and the first line on which a value with a colon had to be taken as if it were quoted.

    Raises:
        FrontMatterError: it cannot be taken.
    """
    if len(text) > MAX_CHARACTERS:
        raise FrontMatterError(f"the front matter has {len(text)} characters, more than {MAX_CHARACTERS}", 1)
    if text.count("[") + text.count("{") > _MAX_BRACKETS:
        raise FrontMatterError(f"the front matter has more than {_MAX_BRACKETS} brackets", 1)
    simple = _simple_fields(text)
    if simple is not None:
        return simple, None
    try:
        return _fields(text), None
    except FrontMatterError:
        repaired, line = _with_quotes(text)
        if line is None:
            raise
        try:
            return _fields(repaired), line
        except FrontMatterError:
            pass
        raise


def _simple_fields(text: str) -> dict[str, Field] | None:
    """Read lines of a key and a text without quotes; ``None`` if there is anything that YAML must read."""
    if not text.isascii():
        return None
    fields: dict[str, Field] = {}
    for number, line in enumerate(text.split("\n"), 1):
        match = _SIMPLE_LINE.fullmatch(line)
        if match is None or match[1] in fields or not line.isprintable() or line.endswith(" "):
            return None
        if match[2].lower() == "null":
            return None
        fields[match[1]] = Field(match[2], number)
    return fields


def _with_quotes(text: str) -> tuple[str, int | None]:
    lines = text.split("\n")
    matches = [_UNQUOTED_COLON.match(line.rstrip()) for line in lines]
    quoted = (
        f"{match[1]}: {json.dumps(match[2], ensure_ascii=False)}" if match else line
        for line, match in zip(lines, matches, strict=True)
    )
    first = next((number for number, match in enumerate(matches, 1) if match), None)
    return "\n".join(quoted), first


def _fields(text: str) -> dict[str, Field]:
    import yaml

    try:
        loader = _loader_class()(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = str(error.problem or error.context)[:200]
        raise FrontMatterError(f"this is not YAML: {reason}", _line(mark)) from None
    except yaml.YAMLError as error:  # characters that YAML does not have
        at = getattr(error, "position", 0)
        line = text.count("\n", 0, at if isinstance(at, int) else 0) + 1
        raise FrontMatterError("this is not YAML: it contains a control character", line) from None
    if root is None:
        return {}
    if not isinstance(root, yaml.MappingNode):
        raise FrontMatterError("the front matter is not a mapping of keys to values", _line(root.start_mark))
    fields: dict[str, Field] = {}
    for key, value in root.value:
        line = _line(key.start_mark)
        if not isinstance(key, yaml.ScalarNode):
            raise FrontMatterError("a key is not a text", line)
        if key.value in fields:
            raise FrontMatterError(f"the key {key.value[:50]!r} stands there twice", line)
        fields[key.value] = Field(_value(value), line)
    return fields


def _value(node: yaml.Node) -> Any:
    import yaml

    if isinstance(node, yaml.SequenceNode):
        return [_value(each) for each in node.value]
    if isinstance(node, yaml.MappingNode):
        return {key.value if isinstance(key.value, str) else "": _value(value) for key, value in node.value}
    return None if node.tag == _NULL else node.value


def _line(mark: Any) -> int:
    return 1 if mark is None else int(mark.line) + 1


@cache  # YAML is imported when the first skill needs it
def _loader_class() -> type[yaml.SafeLoader]:
    import yaml

    class Loader(yaml.SafeLoader):
        """Composes nodes, from which nothing is constructed."""

        _depth = 0

        def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
            event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs do not say
            if isinstance(event, yaml.AliasEvent):
                raise FrontMatterError("YAML aliases (*name) are not taken here", _line(event.start_mark))
            if self._depth >= _MAX_DEPTH:
                raise FrontMatterError(f"values are nested more than {_MAX_DEPTH} deep", _line(event.start_mark))
            self._depth += 1
            try:
                return super().compose_node(parent, index)
            finally:
                self._depth -= 1

    return Loader
