"""Write the public API as plain Markdown, with signatures and docstrings: `python docs/api_pages.py`.

It writes `docs/api/MODULE.md` for each public package, from the source alone: the same source gives the same bytes.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import griffe

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "api"
sys.path.insert(0, str(ROOT / "release"))

from public_api import public_members  # noqa: E402  # where it lies

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROLE = re.compile(r":(?:py:)?(?:class|meth|func|attr|mod|data|exc):`[~!]?([^`]+)`")
_LONGEST_LINE = 100


def api_pages() -> dict[str, str]:
    """Return the pages, text by file name."""
    return {f"{module}.md": _page(module, members) for module, members in public_members().items()}


def _page(module: str, members: dict[str, griffe.Object]) -> str:
    parts = [f"# {module}", "Made by `python docs/api_pages.py` from the docstrings; do not edit."]
    for name, member in members.items():
        parts += _entry(name, member, "##")
    return "\n\n".join(parts) + "\n"


def _entry(name: str, found: griffe.Object, heading: str) -> Iterator[str]:
    yield f"{heading} {name}"
    yield f"```python\n{_declaration(name, found)}\n```"
    described = _attributes(found) if isinstance(found, griffe.Class) else {}
    yield from _docstring(found, with_attributes=not described)
    if described:
        yield "Attributes:\n\n" + "\n".join(f"- `{each}`{text}" for each, text in described.items())
    if isinstance(found, griffe.Class):
        for own, member in sorted(found.all_members.items()):
            target = member.final_target if member.is_alias else member
            if target.is_function and not own.startswith("_"):
                yield from _entry(f"{name}.{own}", target, "###")


def _attributes(found: griffe.Class) -> dict[str, str]:
    """Return the attributes of a class, with their types, and what its docstring and theirs say of them."""
    texts = {
        item.name: " ".join(_text(item.description).split())
        for section in _sections(found)
        if section.kind is griffe.DocstringSectionKind.attributes
        for item in section.value
    }
    attributes = {}
    for name, member in found.members.items():
        if member.is_alias or not member.is_attribute or name.startswith("_"):
            continue
        annotation, value = getattr(member, "annotation", None), getattr(member, "value", None)
        shown = f"{name}: {annotation}" if annotation is not None else name
        if annotation is None and value is not None:
            shown = f"{name} = {str(value)[:_LONGEST_LINE]}"
        own = " ".join(_text(member.docstring.value).split()) if member.docstring is not None else ""
        text = texts.pop(name, own)
        attributes[shown] = f": {text}" if text else ""
    return attributes | {name: f": {text}" for name, text in texts.items()}


def _declaration(name: str, found: griffe.Object) -> str:
    short = name.rpartition(".")[2]
    if isinstance(found, griffe.Class):
        bases = f"({', '.join(map(str, found.bases))})" if found.bases else ""
        made = found.all_members.get("__init__")
        target = made.final_target if made is not None and made.is_alias else made
        lines = [f"class {short}{bases}"]
        if isinstance(target, griffe.Function) and target.parameters and not _is_protocol(found):
            lines.append(_signature(short, target, with_result=False))
        return "\n".join(lines)
    if isinstance(found, griffe.Function):
        kinds = "".join(f"@{kind}\n" for kind in ("classmethod", "staticmethod") if kind in found.labels)
        word = "async def" if "async" in found.labels else "def"
        return f"{kinds}{word} {_signature(short, found)}"
    annotation = getattr(found, "annotation", None)
    if annotation is not None:
        return f"{short}: {annotation}"
    value = getattr(found, "value", None)
    return short if value is None else f"{short} = {str(value)[:_LONGEST_LINE]}"


def _is_protocol(found: griffe.Class) -> bool:
    return any(str(base).partition("[")[0] == "Protocol" for base in found.bases)


def _signature(name: str, function: griffe.Function, *, with_result: bool = True) -> str:
    """Write a signature in a line, or with a line for each parameter if it is long."""
    text = " ".join(str(function.signature()).split())
    text = text[text.index("(") :]
    if not with_result:
        text = text.rpartition(" -> ")[0] or text
    if len(name) + len(text) <= _LONGEST_LINE:
        return name + text
    inside, _, behind = text[1:].rpartition(")")
    lines = "".join(f"    {each},\n" for each in _split(inside))
    return f"{name}(\n{lines}){behind}"


def _split(parameters: str) -> list[str]:
    """Split parameters at the commas between them, which stand in no brackets and no text."""
    found, depth, quote = [""], 0, ""
    for letter in parameters:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        else:
            depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += letter
    return [each.strip() for each in found]


def _sections(found: griffe.Object) -> list[griffe.DocstringSection]:
    if found.docstring is None:
        return []
    return found.docstring.parse("google", warnings=False)


def _docstring(found: griffe.Object, *, with_attributes: bool) -> Iterator[str]:
    kinds = griffe.DocstringSectionKind
    titles = {
        kinds.parameters: "Parameters",
        kinds.attributes: "Attributes",
        kinds.raises: "Raises",
        kinds.returns: "Returns",
        kinds.yields: "Yields",
    }
    for section in _sections(found):
        if section.kind is kinds.text:
            yield _text(section.value)
        elif section.kind in titles and (with_attributes or section.kind is not kinds.attributes):
            yield f"{titles[section.kind]}:\n\n" + "\n".join(_items(section.value))
        elif section.kind is kinds.examples:
            yield "\n\n".join(str(text) for _, text in section.value)


def _items(values: Iterable[griffe.DocstringElement]) -> Iterator[str]:
    for item in values:
        name = getattr(item, "name", "") or str(getattr(item, "annotation", "") or "")
        text = " ".join(_text(item.description).split())
        yield f"- `{name}`: {text}" if name else f"- {text}"


def _text(text: str) -> str:
    """Turn what Sphinx reads into Markdown: roles, double backticks, and blocks behind ``::``."""
    text = _ROLE.sub(lambda match: f"`{match[1].rpartition('.')[2] if match[0].count('~') else match[1]}`", text)
    text = text.replace("``", "`")
    lines, is_block = [], False
    for line in inspect.cleandoc(text).splitlines():
        if line.endswith("::"):
            rest = line[:-2].rstrip()
            lines += ([f"{rest}:"] if rest else []) + ["", "```python"]
            is_block = True
        elif is_block and line and not line.startswith(" "):
            lines += ["```", "", line]
            is_block = False
        elif not (is_block and lines[-1] == "```python" and not line):
            lines.append(line[4:] if is_block else line)
    while is_block and not lines[-1]:
        lines.pop()
    return "\n".join([*lines, *(["```"] if is_block else [])]).strip()


def main() -> None:
    """Write the pages, and remove those of packages that are no longer there."""
    FOLDER.mkdir(exist_ok=True)
    pages = api_pages()
    for path in FOLDER.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
