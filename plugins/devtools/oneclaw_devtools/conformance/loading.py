"""Checks: can the plugin be imported, do its hooks work, and what do they do beside registering?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_devtools.conformance.finding import Check, Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from oneclaw_devtools.conformance.facts import PluginFacts, StepFacts
    from oneclaw_devtools.conformance.probe import ProbeEnd

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE

FAILS = Check("import.fails", _E, "the module cannot be imported", "fix the module that the entry point names")
EXITS = Check(
    "import.exits", _E, "importing ends the program (`sys.exit`)", "raise no SystemExit; say what is missing in a tool"
)
NOTHING = Check("import.nothing", _E, "the entry point names `None`", "name a module with hooks")
IMPORT_HANGS = Check("import.hangs", _E, "importing does not end", "do nothing at import that waits; do it in a tool")
IMPORT_KILLS = Check(
    "import.kills",
    _E,
    "importing ends the process at once (`os._exit`, a crash)",
    "do nothing at import but define; look for native code that crashes",
)
IMPORT_PRINTS = Check(
    "import.prints",
    _W,
    "importing prints on standard output",
    "remove the print, or log: it gets into --json documents",
)
IMPORT_CHANGES = Check(
    "import.changes-process",
    _W,
    "importing changes what all plugins share: the directory, the environment, logging, signals, threads",
    "do it in a tool, or not at all",
)
ENDS_AT_EXIT = Check(
    "import.ends-at-exit",
    _E,
    "a function for the end of the program (`atexit`) ends it, or does not end itself",
    "end the program nowhere: each command that imports the plugin gets another exit status",
)
LEAVES = Check(
    "import.leaves-processes",
    _W,
    "importing, or a hook, starts a process that keeps running",
    "start programs in a tool, and wait for their end",
)
NO_HOOKS = Check("hooks.none", _E, "no hook is implemented", "mark its functions with @oneclaw_core.hookimpl")
UNKNOWN = Check(
    "hooks.unknown", _W, "a hook that OneClaw does not have", "correct its name; see oneclaw_core.hookspecs"
)
UNMARKED = Check(
    "hooks.unmarked",
    _W,
    "a function that is named like a hook and is not marked as one",
    "put @hookimpl before it, or rename it",
)
ARGUMENTS = Check(
    "hooks.arguments", _E, "a hook takes an argument that it is not given", "take only arguments that the hook has"
)
ASYNC = Check("hooks.async", _E, "a hook is an async function", "write it without async")
RAISES = Check("hooks.raises", _E, "a hook raises an exception", "fix the hook")
HOOK_EXITS = Check("hooks.exits", _E, "a hook ends the program (`sys.exit`)", "raise no SystemExit in a hook")
HOOK_HANGS = Check("hooks.hangs", _E, "a hook does not end", "only register in hooks; do what takes time in a tool")
HOOK_KILLS = Check("hooks.kills", _E, "a hook ends the process at once", "only register in hooks")
HOOK_PRINTS = Check("hooks.prints", _W, "a hook prints on standard output", "remove the print, or log")
HOOK_CHANGES = Check("hooks.changes-process", _W, "a hook changes what all plugins share", "only register in hooks")
EMPTY = Check("hooks.empty", _W, "nothing is registered", "call register in the hook, or remove the entry point")
SERVICE = Check("hooks.service", _E, "a service is not an async function", "write it with async def")
TARGET = Check(
    "hooks.target",
    _E,
    "what is registered cannot be imported, or is of the wrong kind",
    "register a function, a class, or its name 'module:attribute'",
)
REGISTERED_NAME = Check(
    "hooks.name", _E, "a name that cannot be registered, or is registered twice", "register another name"
)
SETTING = Check(
    "names.setting-taken",
    _E,
    "a setting with the environment variable of another setting",
    "rename the field, or the plugin",
)
EVENT = Check(
    "hooks.event",
    _E,
    "a hook that cannot be called: a generator, a wrapper of a hook that takes none, or one with invalid options",
    "write it as a plain or an async function",
)
OPTIONS = Check("hooks.options", _E, "an argument of `register` with an invalid value", "correct it")
NOT_A_TOOL = Check("hooks.not-a-tool", _E, "what is registered is not a tool", "decorate a function with @tool")
DEPRECATED = Check(
    "hooks.deprecated",
    _W,
    "a hook, an argument or an attribute of a tool that is to go",
    "change it before the next contract version",
)
OTHER = Check("hooks.refused", _E, "something else that the loader refuses", "fix what is registered")
NOTED = Check("hooks.noted", _N, "something else that the loader notes", "see what it says")


def step_findings(steps: Iterable[StepFacts]) -> Iterator[Finding]:
    """Find what the import and the hooks did beside their work."""
    for step in steps:
        is_import = step.name == "import" or step.name.startswith("module ")
        if step.printed:
            check = IMPORT_PRINTS if is_import else HOOK_PRINTS
            yield check.found(step.name, f"it printed {step.printed[:100]!r}")
        if step.changes:
            check = IMPORT_CHANGES if is_import else HOOK_CHANGES
            yield check.found(step.name, f"it changed {'; '.join(step.changes)}")


def end_finding(step: str, end: ProbeEnd) -> Finding:
    """Say that the process ended, or hung, in a step."""
    is_import = step == "import" or step.startswith("module ")
    if end.has_hung:
        check = IMPORT_HANGS if is_import else HOOK_HANGS
        return check.found(step, f"it {end.how}")
    check = IMPORT_KILLS if is_import else HOOK_KILLS
    return check.found(step, f"the process {end.how}")


def left_finding(name: str) -> Finding:
    """Say that processes were left behind."""
    return LEAVES.found(f"plugin {name}", "loading it started a process that went on after the program had ended")


def emptiness(facts: PluginFacts) -> Iterator[Finding]:
    """Find a plugin that brings nothing, though nothing is wrong with it."""
    if facts.is_empty and not facts.problems:
        yield EMPTY.found(f"plugin {facts.name}", "its hooks registered nothing")
