"""Run the checks that plugins register for ``oneclaw doctor``, and their fixes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract.checks import CheckFix, CheckResult, Health
from oneclaw_core.errors import OneClawError, PluginError, describe_error
from oneclaw_core.system.threads import LoopBlockedError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from oneclaw_core.contract.context import PluginContext
    from oneclaw_core.plugins.plugin import Registration

CHECK_SECONDS = 15.0
"""The time limit of one check of a plugin."""
FIX_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PluginCheck:
    """A check of a plugin that was run.

    Attributes:
        registration: of the check.
        results: what it found, or that it failed.
    """

    registration: Registration
    results: tuple[CheckResult, ...]


async def run_check(registration: Registration, function: Callable[..., Any], context: PluginContext) -> PluginCheck:
    """Run a check with a time limit; an exception or a hang is a problem of its plugin."""
    from oneclaw_core.plugins.isolation import ForeignError, call_isolated

    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    call = partial(_gathered_async if is_async else _gathered, function, context)
    try:
        found = await call_isolated(
            call, CHECK_SECONDS, is_async=is_async, worker=context.worker, name=f"check {registration.name}"
        )
    except TimeoutError:
        return failed_check(registration, f"it did not end within {CHECK_SECONDS:g} s")
    except LoopBlockedError as lost:
        return failed_check(registration, str(lost))
    except ForeignError as error:
        return failed_check(registration, f"it failed: {describe_error(error.raised)}")
    if not all(isinstance(each, CheckResult) for each in found):
        return failed_check(registration, "it returned something other than CheckResult objects")
    return PluginCheck(registration, tuple(found))


async def run_fix(fix: CheckFix, context: PluginContext) -> None:
    """Apply a fix with a time limit.

    Raises:
        PluginError: it failed or did not end in time.
    """
    from oneclaw_core.plugins.isolation import ForeignError, call_isolated

    is_async = inspect.iscoroutinefunction(fix.apply)
    try:
        await call_isolated(
            partial(fix.apply, context), FIX_SECONDS, is_async=is_async, worker=context.worker, name="fix"
        )
    except TimeoutError:
        raise PluginError(f"it did not end within {FIX_SECONDS:g} s") from None
    except LoopBlockedError as lost:
        raise PluginError(str(lost)) from None
    except ForeignError as error:
        is_clear = isinstance(error.raised, OneClawError)
        raise PluginError(str(error.raised) if is_clear else describe_error(error.raised)) from error.raised


def failed_check(registration: Registration, message: str) -> PluginCheck:
    """Say that a check could not be made."""
    remedy = f"report it to the plugin's author, or disable it with: oneclaw plugins disable {registration.plugin}"
    return PluginCheck(registration, (CheckResult(Health.PROBLEM, message, remedy),))


def _gathered(function: Callable[..., Any], context: PluginContext) -> list[Any]:
    return _listed(function(context))


async def _gathered_async(function: Callable[..., Any], context: PluginContext) -> list[Any]:
    if inspect.isasyncgenfunction(function):
        return [each async for each in function(context)]
    return _listed(await function(context))


def _listed(found: Any) -> list[Any]:
    if found is None:
        return []
    return [found] if isinstance(found, CheckResult) else list(found)
