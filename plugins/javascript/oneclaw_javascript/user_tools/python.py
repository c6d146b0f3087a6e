"""The user's tools in Python: ``NAME.py`` with functions decorated with ``@tool``, or with a manifest beside it."""

from __future__ import annotations

import hashlib
import logging
import re
import sys
import threading
from types import ModuleType
from typing import TYPE_CHECKING

from oneclaw_core import OneClawError
from oneclaw_core.plugins import PluginProblem
from oneclaw_core.tool_functions import FunctionTool
from oneclaw_core.tools import ToolDefinitionError, generated_group_definition
from oneclaw_javascript.user_tools.manifest import parse_user_manifest
from oneclaw_javascript.user_tools.user_tool import FileTools, Language, UserTool

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WHERE = "tools"
_NO_PROCESS = (
    "isolation='process' is for plugins: the process could not import this file; leave it out, or make it a plugin"
)

_log = logging.getLogger("oneclaw.user_tools")


def read_python(path: Path, code: bytes, manifest: bytes | None) -> FileTools:
    """Import a file of the user's, which runs it with all the user's rights, and find its tools.

    Args:
        path: ``NAME.py``.
        code: its content.
        manifest: content of ``NAME.json``, ``None`` for tools made by ``@tool``.
    """
    try:
        module = _import(path, code)
    except BaseException as error:  # the user's code may raise anything while it is imported
        # In another thread only the code itself can have raised it.
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        _log.warning("importing %s failed", path, exc_info=error)
        text = " ".join(str(error).split())[:500]
        return FileTools(problems=(_problem(f"{path.name}: {type(error).__name__}{': ' if text else ''}{text}"),))
    if manifest is not None:
        return _of_manifest(path, module, manifest)
    return _of_decorated(path, module)


def _import(path: Path, code: bytes) -> ModuleType:
    """Run a file as a module under a name that no other file, of whatever home, has.

    Not by the import system: that would keep compiled files beside the user's, and go by their age in seconds.
    """
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape")).hexdigest()[:12]
    name = f"oneclaw_user_{digest}_{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}"
    module = ModuleType(name)
    module.__file__ = str(path)
    before = sys.modules.get(name)
    # Where dataclasses, and type hints written as text, look for what a module defines.
    sys.modules[name] = module
    try:
        exec(compile(code, str(path), "exec"), module.__dict__)  # noqa: S102  # that is what the user asked for
    except BaseException:
        if before is None:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
        raise
    return module


def _of_manifest(path: Path, module: ModuleType, manifest: bytes) -> FileTools:
    file = f"{path.stem}.json"
    parsed = parse_user_manifest(manifest, file, default_module=module.__name__)
    problems = [_problem(str(each), is_error=each.is_error) for each in parsed.problems]
    group = parsed.group.name if parsed.group is not None else None
    tools = []
    for each in parsed.tools:
        fault = None
        if each.target.module != module.__name__:
            fault = f"its function must be one of {path.name}, named without a module"
        elif not callable(vars(module).get(each.target.attribute)):
            fault = f"{path.name} has no function {each.target.attribute!r}"
        elif each.definition.behaviour.isolation is not None:
            fault = _NO_PROCESS
        if fault is not None:
            problems.append(_problem(f"{file}: tool {each.name!r}: {fault}"))
        else:
            tools.append(UserTool(each, each.definition, Language.PYTHON, file, group))
    return FileTools(tuple(tools), parsed.group, tuple(problems))


def _of_decorated(path: Path, module: ModuleType) -> FileTools:
    tools: list[UserTool] = []
    problems: list[PluginProblem] = []
    for each in _tools_in(module):
        try:
            if each.definition.behaviour.isolation is not None:
                raise ToolDefinitionError(_NO_PROCESS)
            if each.group is not None:
                generated_group_definition(each.group, ())  # refuses a name that no group can have
            tools.append(UserTool(each, each.definition, Language.PYTHON, path.name, each.group))
        except OneClawError as error:
            problems.append(_problem(f"{path.name}: tool {each.name!r}: {error}"))
        except Exception as error:  # noqa: BLE001  # type hints may be anything, and say so in any way
            problems.append(_problem(f"{path.name}: tool {each.name!r}: {type(error).__name__}: {error}"))
    if not tools and not problems:
        problems.append(_problem(f"{path.name} has no function decorated with @tool", is_error=False))
    return FileTools(tuple(tools), None, tuple(problems))


def _tools_in(module: ModuleType) -> Iterator[FunctionTool[..., object]]:
    """The tools that a module makes itself, in its order; those that it imports are another's."""
    seen: set[int] = set()
    for value in list(vars(module).values()):
        # Not isinstance: it asks the value itself, and a proxy may have no answer yet.
        if not issubclass(type(value), FunctionTool) or id(value) in seen:
            continue
        seen.add(id(value))
        if value.function.__module__ == module.__name__:
            yield value


def _problem(cause: str, *, is_error: bool = True) -> PluginProblem:
    remedy = "fix the file: the change counts from the next request on"
    return PluginProblem(_WHERE, " ".join(cause.split()), remedy, is_error)
