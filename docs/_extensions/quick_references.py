"""Sphinx resolves references in the reference of the API without looking through all names for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.domains.python import PythonDomain

if TYPE_CHECKING:
    from sphinx.application import Sphinx


class _RememberingDomain(PythonDomain):
    """Most references are to the same few names, such as ``str``, which the reference does not even have."""

    _found: dict[tuple[Any, ...], list[Any]]
    _names = 0

    def find_obj(self, env: Any, *wanted: Any, **options: Any) -> list[Any]:
        """Find an object, or several; as the class that this extends."""
        key = (*wanted, *options.values())
        if self._names != len(self.objects):  # pages are still read
            self._names, self._found = len(self.objects), {}
        if key not in self._found:
            self._found[key] = super().find_obj(env, *wanted, **options)
        return list(self._found[key])


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.add_domain(_RememberingDomain, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
