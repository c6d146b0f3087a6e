"""Checks of the skills that plugins register, made by the plugin that knows their format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core.errors import PluginError, describe_error
from oneclaw_core.plugins.contract.checks import CHECK_HOOK
from oneclaw_core.plugins.registration.record import PluginProblem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from oneclaw_core.plugins.catalogue.merging import Catalog
    from oneclaw_core.plugins.registration.record import PluginRecord, PluginSkill
    from oneclaw_core.plugins.registration.registrations import Registration

SKILL_HOOK = "register_skills"


def report_skill_problems(
    catalog: Catalog, skills: Sequence[PluginSkill] | None = None, *, is_thorough: bool = False
) -> None:
    """Check the skills of plugins, and report what is wrong to the records of the plugins that registered them.

    Args:
        catalog: everything that plugins brought.
        skills: those to check; by default all.
        is_thorough: compare the tools and files that a skill names with those there are.
    """
    registry = catalog.registry if is_thorough else None
    for skill in catalog.skills if skills is None else skills:
        for record, registration in _checks(catalog.plugins):
            try:
                target: Callable[..., Iterable[Any]] = record.load_object_now(registration)
                problems = [each for each in target(skill.folder, registry) if isinstance(each, PluginProblem)]
            except PluginError as error:
                record.report(CHECK_HOOK, str(error), "upgrade or disable it")
            except Exception as error:  # noqa: BLE001  # foreign code
                cause = f"the check {registration.name} failed: {describe_error(error)}"
                record.report(CHECK_HOOK, cause, "report it to the plugin's author")
            else:
                for problem in problems:
                    skill.record.add(problem)


def _checks(records: Iterable[PluginRecord]) -> Iterator[tuple[PluginRecord, Registration]]:
    for record in records:
        for registration in record.registrations:
            if registration.hook == CHECK_HOOK and registration.options.get("of") == SKILL_HOOK:
                yield record, registration
