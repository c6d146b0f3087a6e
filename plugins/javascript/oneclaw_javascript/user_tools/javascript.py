"""The user's tools in JavaScript: ``NAME.json``, a manifest, with ``NAME.js`` beside it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from oneclaw_core import ToolResult, UsageError, redact
from oneclaw_core.plugins import PluginProblem
from oneclaw_core.process import run_in_thread
from oneclaw_javascript.bridges import ScriptEndedError
from oneclaw_javascript.call_attachments import CallAttachments
from oneclaw_javascript.errors import JavaScriptError, JavaScriptTimeoutError
from oneclaw_javascript.user_tools.manifest import declared_tools, parse_user_manifest
from oneclaw_javascript.user_tools.user_tool import FileTools, Language, UserTool

if TYPE_CHECKING:
    from oneclaw_core import ToolContext, ToolDefinition
    from oneclaw_core.scripts import Script
    from oneclaw_javascript.bridges import JavaScriptBridges
    from oneclaw_javascript.running import ScriptOptions

MAX_GROUP_TOOLS = 50
ENTRY_FUNCTION = "execute"
# What a program finds the user's variables under, so no parameter can have the name.
VARIABLES_PARAMETER = "_env"
_WHERE = "tools"
# Stands for the file beside the manifest; a function of any other module is none of JavaScript's.
_CODE_MODULE = "javascript"
_MAX_CONSOLE_CHARACTERS = 2_000
# The program is stopped a little before the executor gives up, so that what it wrote to the console can be told.
_SPARE_SECONDS = 0.5
_SPARE_PART = 0.1
_LEAST_SECONDS = 0.05


class JavaScriptTool:
    """A tool whose code is JavaScript; each call runs it in a fresh process.

    Attributes:
        definition: what a model is told about it.
        function_name: what is called.
        code: the whole file.
        tools: the names of the tools that the code may call.
    """

    def __init__(self, definition: ToolDefinition, function_name: str, code: str, tools: tuple[str, ...] = ()) -> None:
        self.definition = definition
        self.function_name = function_name
        self.code = code
        self.tools = tools

    def __repr__(self) -> str:
        return f"<JavaScript tool {self.definition.name}>"

    async def execute(self, arguments: dict[str, Any], context: ToolContext) -> ToolResult:
        """Call the function with the arguments, and the user's variables as ``_env``.

        Args:
            arguments: JSON data.
            context: for what the code reaches: web, files, permissions.

        Returns:
            What the function returned; of what failed, the console too.

        Raises:
            PermissionDeniedError: the code needs something that the user does not grant.
            OneClawError: the user's variables cannot be read.
        """
        started = time.monotonic()  # the imports of the first call take of the tool's time
        from oneclaw_javascript.running import run_javascript
        from oneclaw_javascript.tool_bridges import javascript_bridges

        variables = await run_in_thread(context.services.configuration.environment.values)
        attachments = CallAttachments()
        script = await self._script(context, attachments)
        seconds = self.definition.timeout_seconds
        left = seconds - (time.monotonic() - started)
        try:
            result = await run_javascript(
                self.code,
                function_name=self.function_name,
                params={**arguments, VARIABLES_PARAMETER: variables},
                bridges=_without_secrets(javascript_bridges(context, script, self.tools)),
                timeout_seconds=max(left - min(_SPARE_SECONDS, seconds * _SPARE_PART), _LEAST_SECONDS),
                script=self._options(script),
            )
        except JavaScriptTimeoutError as error:
            text = f"Tool '{self.definition.name}' was stopped after its timeout of {seconds:g} s."
            return ToolResult.error("timeout", _with_console(text, error))
        except JavaScriptError as error:
            return ToolResult.error("execution_error", _with_console(f"{error}.", error))
        except ScriptEndedError as ended:
            return ToolResult.error(ended.error_type, str(ended))
        except UsageError as error:
            return ToolResult.error("execution_error", f"Tool '{self.definition.name}' cannot be run: {error}.")
        if script is not None:
            await script.end()
        returned, _ = attachments.returned(result.text)
        return ToolResult.success("" if result.value is None else result.value, attachments=returned)

    async def _script(self, context: ToolContext, attachments: CallAttachments) -> Script | None:
        """Begin a script, if the code may call tools."""
        if not self.tools:
            return None
        from oneclaw_core.scripts import begin_script
        from oneclaw_javascript.running import ENGINE_VERSION, engine_name

        purpose = f"the tool {self.definition.name}"
        engine = engine_name(ENGINE_VERSION)
        return await begin_script(context, self.code, purpose, engine=engine, adapt=attachments.named)

    def _options(self, script: Script | None) -> ScriptOptions | None:
        from oneclaw_javascript.running import ScriptOptions

        if script is None:
            return None
        names = tuple(each for each in script.tool_names if each in self.tools)
        return ScriptOptions(now_ms=script.started_ms, seed=script.seed, tool_names=names, can_evaluate=True)


def read_javascript(name: str, manifest: bytes, code: bytes) -> FileTools:
    """Read a manifest and the code beside it.

    Args:
        name: of the files, without their ends.
        manifest: content of ``NAME.json``.
        code: content of ``NAME.js``.
    """
    file = f"{name}.json"
    try:
        text = code.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return FileTools(problems=(_problem(f"{name}.js is not UTF-8: {error.reason} at byte {error.start + 1}"),))
    parsed = parse_user_manifest(manifest, file, default_module=_CODE_MODULE)
    problems = [_problem(str(each), is_error=each.is_error) for each in parsed.problems]
    if len(parsed.tools) > MAX_GROUP_TOOLS:
        problems.append(_problem(f"{file}: {len(parsed.tools)} tools are too many for one group: {MAX_GROUP_TOOLS}"))
        return FileTools(problems=tuple(problems))
    tools = []
    calls = declared_tools(manifest) if parsed.tools else {}
    for each in parsed.tools:
        fault = definition_fault(each.definition)
        if each.target.module != _CODE_MODULE:
            fault = f"its function must be one of {name}.js, named without a module"
        if fault is not None:
            problems.append(_problem(f"{file}: tool {each.name!r}: {fault}"))
            continue
        if each.definition.behaviour.isolation is not None:
            text_of_note = f"{file}: tool {each.name!r}: 'isolation' is ignored: JavaScript has a separate process"
            problems.append(_problem(text_of_note, is_error=False))
        group = parsed.group.name if parsed.group is not None else None
        tool = JavaScriptTool(each.definition, each.target.attribute, text, calls.get(each.name, ()))
        tools.append(UserTool(tool, each.definition, Language.JAVASCRIPT, file, group))
    return FileTools(tuple(tools), parsed.group, tuple(problems))


def definition_fault(definition: ToolDefinition) -> str | None:
    """Say what JavaScript cannot do of what a manifest can declare; ``None`` if it can do it all."""
    properties = definition.parameters.get("properties")
    if isinstance(properties, dict) and VARIABLES_PARAMETER in properties:
        return f"no parameter can be named {VARIABLES_PARAMETER}: there the code finds the user's variables"
    return None


def _without_secrets(bridges: JavaScriptBridges) -> JavaScriptBridges:
    show = bridges.on_console
    return replace(bridges, on_console=lambda line: show(replace(line, text=redact(line.text))))


def _with_console(text: str, error: JavaScriptError) -> str:
    console = error.console[-_MAX_CONSOLE_CHARACTERS:]
    return redact(f"{text}\n\n[console]\n{console}" if console else text)


def _problem(cause: str, *, is_error: bool = True) -> PluginProblem:
    return PluginProblem(_WHERE, cause, "fix the file: the change counts from the next request on", is_error)
