"""The services of an open home that a plugin has declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from oneclaw_core.capabilities.declaration import HOME_SERVICE

if TYPE_CHECKING:
    from oneclaw_core.capabilities.declaration import Declaration

_Services = TypeVar("_Services")
# They give nothing of the home.
_FOR_ALL = frozenset({"loop", "on_program_loop"})


def declared_services(services: _Services, declaration: Declaration | None) -> _Services:
    """Return the services that a plugin may use; the others raise ``PermissionDeniedError``.

    Args:
        services: of the open home.
        declaration: of the plugin; ``None`` if nothing holds it.
    """
    if declaration is None or declaration.reasons is None:
        return services
    held: Any = _DeclaredServices(services, declaration)
    return held  # type: ignore[no-any-return]


class _DeclaredServices:
    """The services that a plugin has declared."""

    def __init__(self, services: object, declaration: Declaration) -> None:
        self._services = services
        self._declaration = declaration

    def __getattr__(self, name: str) -> Any:
        if name not in _FOR_ALL:
            self._declaration.require(HOME_SERVICE, name)
        return getattr(self._services, name)
