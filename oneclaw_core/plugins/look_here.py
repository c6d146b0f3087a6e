"""The choice of the process that looks at new plugins."""

from contextvars import ContextVar

LOOKS_HERE: ContextVar[bool] = ContextVar("LOOKS_HERE", default=False)
"""True to import new plugins in this process, as the command line does. Otherwise a subprocess looks at them first."""
