"""The checks of the skills that plugins register, run for listings and ``oneclaw plugins check``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.plugins.first_use import load_object_now
from oneclaw_core.plugins.plugin import CHECK_HOOK, SKILL_HOOK, PluginProblem, PluginSkill

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oneclaw_core.plugins.catalog import Catalog


def report_skill_problems(
    catalog: Catalog, skills: Sequence[PluginSkill] | None = None, *, is_thorough: bool = False
) -> None:
    """Check the skills of plugins, and report what is wrong to the plugins that registered them.

    Args:
        catalog: everything that plugins brought.
        skills: those to check; by default all.
        is_thorough: compare the tools and files that a skill names with those there are.
    """
    registry = catalog.registry if is_thorough else None
    checks = [
        (plugin, each)
        for plugin in catalog.plugins
        for each in plugin.registrations
        if each.hook == CHECK_HOOK and each.options.get("of") == SKILL_HOOK
    ]
    for skill in catalog.skills if skills is None else skills:
        for plugin, check in checks:
            try:
                target: Callable[..., Iterable[Any]] = load_object_now(plugin, check)
                problems = [each for each in target(skill.folder, registry) if isinstance(each, PluginProblem)]
            except PluginError as error:
                plugin.report(CHECK_HOOK, str(error), "upgrade or disable it")
            except Exception as error:  # noqa: BLE001  # foreign code
                cause = f"the check {check.name} failed: {describe_error(error)}"
                plugin.report(CHECK_HOOK, cause, "report it to the plugin's author")
            else:
                for problem in problems:
                    skill.record.add(problem)
