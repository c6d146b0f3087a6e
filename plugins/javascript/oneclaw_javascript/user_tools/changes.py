"""Changing the user's JavaScript tools: everything is checked before anything is asked or written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from oneclaw_core import DuplicateError, NotFoundError, OneClawError, ProtectedError, UsageError
from oneclaw_core.manifests import parse_json
from oneclaw_javascript.user_tools.checking import (
    DEFAULT_TIMEOUT_SECONDS,
    checked_code,
    checked_description,
    checked_parameters,
    checked_permissions,
    checked_timeout,
    permissions_text,
    size_text,
    written_manifest,
)
from oneclaw_javascript.user_tools.javascript import ENTRY_FUNCTION
from oneclaw_javascript.user_tools.manifest import TOOLS_KEY, with_current_keys
from oneclaw_javascript.user_tools.user_tool import Language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ToolDefinition
    from oneclaw_javascript.user_tools.registered import RegisteredTools

_NAME = re.compile(r"[a-z][a-z0-9_]{0,48}[a-z0-9]")


@dataclass(frozen=True, slots=True)
class ToolChange:
    """A change that was checked, and is not made yet.

    Attributes:
        name: the tool's.
        summary: what is done, for the user to decide on.
        manifest: content of ``NAME.json`` from then on; ``None`` to delete the tool.
        code: content of ``NAME.js``.
        replaces: what both files are now, ``None`` for one that is not there.
    """

    name: str
    summary: str
    manifest: bytes | None
    code: bytes | None
    replaces: tuple[bytes | None, bytes | None]

    @property
    def is_new(self) -> bool:
        """True if there is no such tool yet."""
        return self.replaces == (None, None)


class ToolChanges:
    """Checks changes of the user's JavaScript tools; :meth:`RegisteredTools.make` makes them.

    Args:
        tools: those there are.
    """

    def __init__(self, tools: RegisteredTools) -> None:
        self._tools = tools

    async def creation(
        self,
        name: str,
        description: str,
        parameters: str | Mapping[str, Any],
        code: str,
        *,
        required_permissions: str = "",
        timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS,
        tools: str = "",
    ) -> ToolChange:
        """Check a new tool.

        Args:
            name: 2 to 50 lower-case letters, digits and ``_``.
            description: for the model.
            parameters: JSON Schema of the arguments, as text or as JSON data.
            code: JavaScript that defines ``execute``.
            required_permissions: names, with commas between them.
            timeout_seconds: how long a call may take, from 1 to 600.
            tools: names of the tools that the code calls, with commas between them.

        Raises:
            UsageError: something does not fit; the message says what.
            DuplicateError: the name is taken.
            OneClawError: the files there are cannot be read.
        """
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"name {name[:100]!r} is invalid: use 2 to 50 lower-case letters, digits and '_', beginning with a "
                "letter and ending with a letter or digit"
            )
        await self._refresh()
        if self._tools.registry.get_tool(name) is not None:
            raise DuplicateError(
                f"there is a tool {name!r} already, from {_holder(self._tools, name)}: choose another name"
            )
        before = self._tools.files.read(name)
        if before != (None, None):
            raise DuplicateError(
                f"there are files {name}.json or {name}.js already, which are no tool "
                f"({_why_not(self._tools, name)}): delete them with delete_js_tool, or choose another name"
            )
        document = {
            "name": name,
            "description": checked_description(description),
            "parameters": checked_parameters(parameters),
            "required_permissions": checked_permissions(required_permissions),
            "timeout_seconds": checked_timeout(timeout_seconds),
            **({TOOLS_KEY: named} if (named := _listed(tools)) else {}),
        }
        manifest, definition = written_manifest(document)
        written = await checked_code(code, ENTRY_FUNCTION)
        summary = (
            f"create the JavaScript tool '{name}': {size_text(code)} of code, {permissions_text(definition)}, "
            f"{definition.timeout_seconds:g} s{_calls_text(named)}; it can read the variables of: oneclaw env list"
        )
        return ToolChange(name, summary, manifest, written, before)

    async def update(
        self,
        name: str,
        *,
        description: str | None = None,
        parameters: str | Mapping[str, Any] | None = None,
        code: str | None = None,
        required_permissions: str | None = None,
        timeout_seconds: float | None = None,
        tools: str | None = None,
    ) -> ToolChange | None:
        """Check a change of a tool; what is ``None`` stays, and so does what else stands in the manifest.

        Args:
            name: of the tool.
            description: as for :func:`creation`.
            parameters: as for :func:`creation`.
            code: as for :func:`creation`.
            required_permissions: as for :func:`creation`; empty for none.
            timeout_seconds: as for :func:`creation`.
            tools: as for :func:`creation`; empty for none.

        Returns:
            The change; ``None`` if the tool is like that already.

        Raises:
            UsageError: something does not fit.
            NotFoundError: there is no such tool of the user's.
            ProtectedError: the tool is not one that can be changed in this way.
            OneClawError: its files cannot be read.
        """
        await self._refresh()
        _check_changeable(self._tools, name)
        old_manifest, old_code = before = self._tools.files.read(name)
        if old_manifest is None or old_code is None:
            raise NotFoundError(f"the files of the tool {name!r} are gone: create it anew with create_js_tool")
        document = with_current_keys(parse_json(old_manifest))
        if not isinstance(document, dict):
            raise OneClawError(f"{name}.json has changed meanwhile: look at it, and try again")
        _, old = written_manifest(document)
        changed = dict(document)
        if description is not None:
            changed["description"] = checked_description(description)
        if parameters is not None:
            changed["parameters"] = checked_parameters(parameters)
        if required_permissions is not None:
            changed["required_permissions"] = checked_permissions(required_permissions)
        if timeout_seconds is not None:
            changed["timeout_seconds"] = checked_timeout(timeout_seconds)
        if tools is not None:
            changed[TOOLS_KEY] = _listed(tools)
        manifest, new = written_manifest(changed)
        written = old_code if code is None else await checked_code(code, str(document.get("function", ENTRY_FUNCTION)))
        differences = [*_differences(old, new)]
        if changed.get(TOOLS_KEY, []) != document.get(TOOLS_KEY, []):
            differences.append(f"calls the tools {', '.join(changed[TOOLS_KEY]) or 'none'}")
        if written != old_code:
            differences.append(
                f"code: {size_text(old_code.decode('utf-8', 'replace'))} -> {size_text(written.decode())}"
            )
        if not differences:
            return None
        summary = f"change the JavaScript tool '{name}': {'; '.join(differences)}"
        return ToolChange(name, summary, manifest, written, before)

    async def deletion(self, name: str) -> ToolChange:
        """Check whether a tool can be deleted, or files under its name that are no tool.

        Args:
            name: of the tool.

        Raises:
            NotFoundError: there is no such tool of the user's.
            ProtectedError: the tool is not one that can be deleted in this way.
            OneClawError: its files cannot be read.
        """
        await self._tools.refresh()
        if self._tools.registry.get_tool(name) is None and _NAME.fullmatch(name):
            before = self._tools.files.read(name)
            if before == (None, None):
                _refuse_unknown(self._tools, name)
            if before[0] is not None and before[0].lstrip().startswith(b"["):
                raise ProtectedError(
                    f"{name}.json is a group file: the user can delete it by hand, in {self._tools.files.folder}"
                )
            return ToolChange(name, f"delete {name}.json and {name}.js, which are no tool", None, None, before)
        _check_changeable(self._tools, name)
        return ToolChange(name, f"delete the JavaScript tool '{name}'", None, None, self._tools.files.read(name))

    async def _refresh(self) -> None:
        await self._tools.refresh()
        if self._tools.is_disabled:
            raise UsageError("the user's own tools are disabled; the user can enable them: oneclaw plugins enable user")


def _listed(tools: str) -> list[str]:
    return list(dict.fromkeys(each.strip() for each in tools.split(",") if each.strip()))


def _calls_text(tools: list[str]) -> str:
    return f", calls the tools {', '.join(tools)}" if tools else ""


def _check_changeable(tools: RegisteredTools, name: str) -> None:
    tool = tools.get(name)
    by_hand = f"the user can change it by hand, in {tools.files.folder}"
    if tool is None:
        if tools.registry.get_tool(name) is not None:
            raise ProtectedError(f"the tool {name!r} comes from {_holder(tools, name)}, and is none of the user's own")
        _refuse_unknown(tools, name)
    if tool.language is not Language.JAVASCRIPT:
        raise ProtectedError(f"the tool {name!r} is written in Python, in {tool.file}: {by_hand}")
    if not tool.is_pair:
        raise ProtectedError(f"the tool {name!r} shares the group file {tool.file} with others: {by_hand}")


def _refuse_unknown(tools: RegisteredTools, name: str) -> NoReturn:
    if tools.problems_of_file(name):
        raise NotFoundError(f"there is no tool {name!r}, since its files cannot be used: {_why_not(tools, name)}")
    own = ", ".join(tool.name for tool in tools.tools if tool.is_pair) or "none"
    raise NotFoundError(f"there is no tool {name[:100]!r} of the user's; there are: {own}")


def _why_not(tools: RegisteredTools, name: str) -> str:
    problems = (*tools.problems_of_file(name), *(each for each in tools.problems if f"{name}.json" in each.cause))
    return problems[0].cause if problems else "they are no tool"


def _holder(tools: RegisteredTools, name: str) -> str:
    source = tools.registry.get_source_info(name)
    if source is None:
        return "another"
    own = tools.get(name)
    return (
        f"the user's file {own.file}" if own is not None else source.distribution or source.plugin or str(source.type)
    )


def _differences(old: ToolDefinition, new: ToolDefinition) -> list[str]:
    differences = [
        label
        for label, is_same in (
            ("another description", old.description == new.description),
            ("other parameters", old.parameters == new.parameters),
        )
        if not is_same
    ]
    if old.required_permissions != new.required_permissions:
        differences.append(f"{permissions_text(old)} -> {permissions_text(new)}")
    if old.timeout_seconds != new.timeout_seconds:
        differences.append(f"{old.timeout_seconds:g} s -> {new.timeout_seconds:g} s")
    return differences
