"""The published Agent Skills format: what a ``SKILL.md`` has to say, and how.

Source: https://agentskills.io/specification. As its guide for programs advises, what does no harm is a note, and the
skill is used all the same; what would leave a model without a name, a description or instructions is an error.
"""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from oneclaw_core.tools import one_line
from oneclaw_skills.front_matter import Field, FrontMatterError, read_fields
from oneclaw_skills.skill import SkillDocument, SkillProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_NAME_CHARACTERS = 64
MAX_DESCRIPTION_CHARACTERS = 1024
MAX_COMPATIBILITY_CHARACTERS = 500
ADVISED_LINES = 500
GROUPS_KEY = "oneclaw-groups"
"""The metadata key that names the tool groups a skill needs, separated by spaces."""

_KNOWN = frozenset({"name", "description", "license", "compatibility", "metadata", "allowed-tools"})
_NOTED_FIELDS = 20
_RULE = "---"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+")
# ``Bash(git add:*)``, as other programs write it, is one tool.
_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_SEPARATORS = re.compile(r"[\s,]+")
_A_NAME = "use 1 to 64 lower-case letters, digits and single hyphens, such as name: pdf-report"


def is_skill_name(name: str) -> bool:
    """Return True if a name is valid: lower-case letters and digits of any script, and single hyphens within."""
    return (
        0 < len(name) <= MAX_NAME_CHARACTERS
        and name == name.lower()
        and all(character.isalnum() or character == "-" for character in name)
        and not (name.startswith("-") or name.endswith("-") or "--" in name)
    )


def parse_document(text: str, folder_name: str) -> tuple[SkillDocument | None, tuple[SkillProblem, ...]]:
    """Read a ``SKILL.md``.

    Args:
        text: of the file.
        folder_name: of the folder it lies in, which is to bear the skill's name.

    Returns:
        What it says, ``None`` if the skill cannot be used, and what is wrong.
    """
    problems: list[SkillProblem] = []
    parts = _split(text)
    if isinstance(parts, SkillProblem):
        return None, (parts,)
    front_matter, body, body_line = parts
    try:
        fields, repaired_line = read_fields(front_matter)
    except FrontMatterError as error:
        return None, (SkillProblem(str(error), "fix the front matter", error.line + 1),)
    if repaired_line is not None:
        problems.append(
            SkillProblem("a value with a colon is not quoted", "put it into quotes", repaired_line + 1, is_error=False)
        )
    reader = _Reader(fields, problems)
    name, description, metadata = reader.name(folder_name), reader.description(), reader.metadata()
    document = SkillDocument(
        name=name or "",
        description=description or "",
        body=body,
        license=reader.text("license"),
        compatibility=reader.compatibility(),
        metadata=metadata,
        allowed_tools=reader.allowed_tools(),
        groups=tuple(dict.fromkeys(filter(None, _SEPARATORS.split(metadata.get(GROUPS_KEY, ""))))),
    )
    reader.note_unknown()
    if not body:
        problems.append(SkillProblem("there are no instructions", "write them below the front matter", body_line))
    elif body.count("\n") >= ADVISED_LINES:
        problems.append(
            SkillProblem(
                f"the instructions have more than {ADVISED_LINES} lines",
                "move what is not always needed into files beside it",
                body_line,
                is_error=False,
            )
        )
    ordered = tuple(sorted(problems, key=lambda each: each.line or 0))
    if name is None or description is None or not body:
        return None, ordered
    return document, ordered


def _split(text: str) -> tuple[str, str, int] | SkillProblem:
    """Part the front matter from the instructions, which begin on the line that is given as a number."""
    if "\x00" in text:
        return SkillProblem("the file is binary, not text", "write it as UTF-8 text")
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != _RULE:
        remedy = "begin the file with a line ---, then name: and description:, then a line ---"
        return SkillProblem("the file does not begin with front matter", remedy, 1)
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == _RULE), None)
    if end is None:
        return SkillProblem("the front matter does not end", "put a line --- below it", 1)
    return "\n".join(lines[1:end]), "\n".join(lines[end + 1 :]).strip(), end + 2


class _Reader:
    """Takes the fields one by one, and notes what is wrong with each."""

    def __init__(self, fields: Mapping[str, Field], problems: list[SkillProblem]) -> None:
        self._fields = fields
        self._problems = problems

    def name(self, folder_name: str) -> str | None:
        name = self._required("name", _A_NAME)
        if name is None:
            return None
        # Some file systems store names decomposed.
        name = unicodedata.normalize("NFKC", name)
        if not is_skill_name(name):
            self._note("name", f"{one_line(name, 70)!r} is not a skill's name", _A_NAME, is_error=True)
            return None
        if name != unicodedata.normalize("NFKC", folder_name):
            shown = one_line(folder_name, 70)
            self._note("name", f"the skill is named {name!r}, its folder {shown!r}", "name both the same")
        return name

    def description(self) -> str | None:
        remedy = "say in a sentence or two what the skill does and when to use it"
        text = self._required("description", remedy)
        if text is None:
            return None
        if len(text) > MAX_DESCRIPTION_CHARACTERS:
            self._note(
                "description", f"it has {len(text)} characters, more than {MAX_DESCRIPTION_CHARACTERS}", "shorten it"
            )
        return one_line(_CONTROL.sub(" ", text), MAX_DESCRIPTION_CHARACTERS)

    def compatibility(self) -> str | None:
        text = self.text("compatibility")
        if text is not None and len(text) > MAX_COMPATIBILITY_CHARACTERS:
            self._note(
                "compatibility",
                f"it has {len(text)} characters, more than {MAX_COMPATIBILITY_CHARACTERS}",
                "shorten it",
            )
        return None if text is None else one_line(text, MAX_COMPATIBILITY_CHARACTERS)

    def metadata(self) -> dict[str, str]:
        value = self._value("metadata")
        if value is None:
            return {}
        if not isinstance(value, dict):
            self._note("metadata", f"metadata is {_kind(value)}, not a mapping", "write key: value lines below it")
            return {}
        for key in (key for key, each in value.items() if not isinstance(each, str)):
            self._note("metadata", f"metadata {key[:50]!r} is {_kind(value[key])}, not a text", "write it as a text")
        return {key: one_line(_CONTROL.sub(" ", each)) for key, each in value.items() if isinstance(each, str)}

    def allowed_tools(self) -> tuple[str, ...]:
        value = self._value("allowed-tools")
        if value is None:
            return ()
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(each, str) for each in texts):
            self._note(
                "allowed-tools", f"allowed-tools is {_kind(value)}, not a list of names", "separate names with spaces"
            )
            return ()
        return tuple(dict.fromkeys(tool for text in texts for tool in _TOOL.findall(_CONTROL.sub(" ", text))))

    def text(self, key: str) -> str | None:
        value = self._value(key)
        if value is None or isinstance(value, str):
            return None if value is None else _CONTROL.sub(" ", value).strip() or None
        self._note(key, f"{key} is {_kind(value)}, not a text", "write it as a text")
        return None

    def note_unknown(self) -> None:
        unknown = [key for key in self._fields if key not in _KNOWN]
        for key in unknown[:_NOTED_FIELDS]:
            shown = one_line(_CONTROL.sub(" ", key), 50)
            self._note(key, f"{shown!r} is not a field of the format, and is passed over", "put it under metadata:")

    def _required(self, key: str, remedy: str) -> str | None:
        value = self._value(key)
        if value is not None and not isinstance(value, str):
            self._note(key, f"{key} is {_kind(value)}, not a text", remedy, is_error=True)
            return None
        if value is None or not value.strip():
            self._note(key, f"{key} is missing", remedy, is_error=True)
            return None
        return value.strip()

    def _value(self, key: str) -> Any:
        return self._fields[key].value if key in self._fields else None

    def _note(self, key: str, message: str, remedy: str, *, is_error: bool = False) -> None:
        line = self._fields[key].line + 1 if key in self._fields else 1
        self._problems.append(SkillProblem(message, remedy, line, is_error))


def _kind(value: Any) -> str:
    return {list: "a list", dict: "a mapping", type(None): "empty"}.get(type(value), "a text")
