"""A plugin gets the services of the home that its capabilities name, and no others by a way around."""

from types import SimpleNamespace

import pytest

from oneclaw_core import PermissionDeniedError
from oneclaw_core.capabilities.declaration import declared_services


class Declaration:
    reasons = ("needs sessions",)

    def require(self, kind, name):
        if name != "sessions":
            raise PermissionDeniedError(f"{name} is not declared", name)


SERVICES = SimpleNamespace(sessions="sessions", agents="agents", loop="loop", for_other_loop=lambda: SERVICES)


def test_only_declared_services_are_there():
    held = declared_services(SERVICES, Declaration())
    assert (held.sessions, held.loop) == ("sessions", "loop")
    with pytest.raises(PermissionDeniedError, match="agents is not declared"):
        _ = held.agents


def test_services_for_another_loop_are_no_way_around():
    with pytest.raises(PermissionDeniedError):
        declared_services(SERVICES, Declaration()).for_other_loop()
