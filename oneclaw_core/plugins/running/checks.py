"""Run the checks that plugins register for ``oneclaw doctor``, and their fixes."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from oneclaw_core.contract.checks import CheckFix, CheckResult, Health
from oneclaw_core.errors import OneClawError, PluginError, describe_error
from oneclaw_core.plugins.isolation import ForeignError, call_isolated
from oneclaw_core.system.threads import LoopBlockedError

if TYPE_CHECKING:
    from collections.abc import Callable

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
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    call = partial(_gathered_async if is_async else _gathered, function, context)
    try:
        found = await _called(call, CHECK_SECONDS, context, f"check {registration.name}", is_async=is_async)
    except ForeignError as error:
        return failed_check(registration, f"it failed: {describe_error(error.raised)}")
    except PluginError as error:
        return failed_check(registration, str(error))
    if not all(isinstance(each, CheckResult) for each in found):
        return failed_check(registration, "it returned something other than CheckResult objects")
    return PluginCheck(registration, tuple(found))


async def run_fix(fix: CheckFix, context: PluginContext) -> None:
    """Apply a fix with a time limit.

    Raises:
        PluginError: it failed or did not end in time.
    """
    is_async = inspect.iscoroutinefunction(fix.apply)
    try:
        await _called(partial(fix.apply, context), FIX_SECONDS, context, "fix", is_async=is_async)
    except ForeignError as error:
        is_clear = isinstance(error.raised, OneClawError)
        raise PluginError(str(error.raised) if is_clear else describe_error(error.raised)) from error.raised


async def _called(call: Callable[[], Any], seconds: float, context: PluginContext, name: str, *, is_async: bool) -> Any:
    """Call foreign code.

    Raises:
        PluginError: it did not end in time, or was lost.
        ForeignError: it raised something.
    """
    try:
        return await call_isolated(call, seconds, is_async=is_async, worker=context.worker, name=name)
    except TimeoutError:
        raise PluginError(f"it did not end within {seconds:g} s") from None
    except LoopBlockedError as lost:
        raise PluginError(str(lost)) from None


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
