"""Two corrections to the docstrings that autodoc renders."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from sphinx.ext.napoleon import GoogleDocstring

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_NAPOLEON_PRIORITY = 500
_TOP_LEVEL_COMMA = re.compile(r", (?![^(\[]*[)\]])")


def _read_properties_as_text(app: Sphinx, what: str, name: str, value: Any, _options: Any, lines: list[str]) -> None:
    """Napoleon takes what stands before a colon in a property's docstring for its type."""
    if isinstance(value, property) and value.fget is not None:
        source = inspect.getdoc(value.fget) or ""
        lines[:] = GoogleDocstring(source, app.config, app, "method", name, value).lines()


def public_signature(signature: str) -> str:
    """Leave out the parameters that begin with an underscore: only OneClaw passes them.

    Args:
        signature: from parenthesis to parenthesis.
    """
    parameters = _TOP_LEVEL_COMMA.split(signature.removeprefix("(").removesuffix(")"))
    return f"({', '.join(each for each in parameters if not re.match(r'_[a-z]', each))})"


def _hide_private_parameters(
    app: Sphinx, what: str, name: str, value: Any, _options: Any, signature: str | None, returns: str | None
) -> tuple[str | None, str | None] | None:
    if what == "class" and signature is not None and re.search(r"[(,] ?_[a-z]", signature):
        return public_signature(signature), returns
    return None


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", _read_properties_as_text, priority=_NAPOLEON_PRIORITY + 1)
    app.connect("autodoc-process-signature", _hide_private_parameters)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
