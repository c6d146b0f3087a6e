"""Checks that plugins register for `oneclaw doctor` and `oneclaw plugins`: what they return."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from oneclaw_core.contract.context import PluginContext


class Health(StrEnum):
    """The state of what a check looked at."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class CheckFix:
    """Fix for a finding, which ``oneclaw doctor --fix`` carries out after the user has agreed.

    Attributes:
        summary: one line that says what is done, such as ``make FILE readable only by you``.
        apply: sync or async function of the ``PluginContext`` that does it; a ``OneClawError`` says why it cannot.
    """

    summary: str
    apply: Callable[[PluginContext], Any]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """One line of what a plugin's check found.

    Attributes:
        status: how it is.
        message: one line.
        remedy: what to do about it, ``None`` if it is as it should be.
        fix: what does that, if OneClaw can do it.
    """

    status: Health
    message: str
    remedy: str | None = None
    fix: CheckFix | None = None
