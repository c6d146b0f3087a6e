"""Packages whose names are public."""

from pathlib import Path

import oneclaw_core

_ROOT = Path(oneclaw_core.__file__).parent

PUBLIC_PACKAGES = [
    "oneclaw_core",
    *sorted(
        f"oneclaw_core.{path.parent.name}"
        for path in _ROOT.glob("*/__init__.py")
        if "lazy_names" in path.read_text(encoding="utf-8")
    ),
    "pytest_oneclaw",
]
