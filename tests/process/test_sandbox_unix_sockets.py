"""Unix sockets in a sandbox: those among its own programs and in the directories that it writes, and no others."""

import asyncio
import json
import os
import shutil
import socket
import sys

import pytest
from needed_programs import require

from oneclaw_core.process.programs import run_program
from oneclaw_core.process.sandbox.bubblewrap import Bubblewrap
from oneclaw_core.process.sandbox.landlock import landlock_version
from oneclaw_core.process.sandbox.policy import Network, SandboxPolicy

TRY = """
import json, os, socket, sys
def attempt(kind, address):
    try:
        with socket.socket(socket.AF_UNIX, kind) as tried:
            tried.connect(address)
        return "connected"
    except OSError as error:
        return type(error).__name__
names = json.loads(sys.argv[1])
found = {name: attempt(socket.SOCK_STREAM, address) for name, address in names.items()}
try:
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as other:
        own.bind(os.environ["TMPDIR"] + "/own")
        own.listen()
        other.connect(os.environ["TMPDIR"] + "/own")
        found["own"] = "connected"
except OSError as error:
    found["own"] = type(error).__name__
print(json.dumps(found))
"""


@pytest.fixture
def folders(tmp_path):
    require("bubblewrap")
    for name in ("writes", "reads", "reads/deep", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path


def attempts(folders, network, **more):
    """Listen outside, in each folder and in the abstract names, and try to connect from inside."""
    addresses = {name: str(folders / name / "socket") for name in ("writes", "reads", "reads/deep")}
    addresses["abstract"] = f"\0oneclaw-{os.getpid()}"
    servers = []
    for address in addresses.values():
        servers.append(socket.socket(socket.AF_UNIX))
        servers[-1].bind(address)
        servers[-1].listen()

    policy = SandboxPolicy(
        write_roots=(folders / "writes",),
        read_roots=(folders / "reads",),
        temporary=folders / "tmp",
        network=network,
        environment=(("PATH", os.environ["PATH"]),),
        **more,
    )
    output = bytearray()
    program = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
    try:
        asyncio.run(
            run_program(
                [program, "-I", "-c", TRY, json.dumps(addresses)],
                directory=folders / "writes",
                timeout_seconds=60,
                on_stdout=output.extend,
                sandbox=(Bubblewrap(), policy),
            )
        )
    finally:
        for each in servers:
            each.close()
    return json.loads(output)


@pytest.mark.parametrize("network", [Network.NONE, Network.ALL])
def test_program_connects_to_its_own_sockets_alone(folders, network):
    found = attempts(folders, network, has_unix_sockets=True)
    if network is Network.ALL and landlock_version() < 6:
        assert set(found.values()) == {"PermissionError"}
        return
    assert (found["own"], found["writes"]) == ("connected", "connected")
    assert "connected" not in (found["reads"], found["reads/deep"], found["abstract"])


def test_program_of_other_policies_has_no_unix_sockets(folders):
    assert set(attempts(folders, Network.ALL).values()) == {"PermissionError"}
