"""Triggers: what can start a scheduled task beside time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

Fire = Callable[[str], Awaitable[None]]
"""Starts a run of the task that a trigger works for. The text says why; the agent gets it with the task's prompt."""
