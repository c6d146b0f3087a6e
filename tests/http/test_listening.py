"""Sockets that listen at a port of this machine."""

import pytest

from oneclaw_core.errors import PortError
from oneclaw_core.http import listen


@pytest.mark.parametrize("port", [-1, 65_536, 99_999_999])
def test_port_that_does_not_exist_is_refused(port):
    with pytest.raises(PortError, match=f"port {port} cannot be used: a port is a number from 0 to 65535"):
        listen("127.0.0.1", port, advice="choose another one")


def test_port_in_use_is_refused_with_advice():
    with listen("127.0.0.1", 0, advice="") as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=f"port {port} of 127.0.0.1 .* another program listens there; take another"):
            listen("127.0.0.1", port, advice="take another")
