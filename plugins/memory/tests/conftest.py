"""The program in the test's own process."""

from program import home, ok, oneclaw

__all__ = ["home", "ok", "oneclaw"]
