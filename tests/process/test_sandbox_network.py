"""The network of a sandbox whose only way out is a proxy of the program that runs it."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from escape_fixtures import NOBODY, surroundings
from needed_programs import require

from oneclaw_core import process
from oneclaw_core.process import SandboxError, SandboxPolicy, run_program
from oneclaw_core.process.sandbox import bubblewrap as bubblewrap_module
from oneclaw_core.process.sandbox.bubblewrap import Bubblewrap
from oneclaw_core.process.sandbox.landlock import Landlocked
from oneclaw_core.process.sandbox.policy import Network

PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
ASK = """
import os, socket
connection = socket.create_connection(("127.0.0.1", 3128))
connection.sendall(b"hello")
connection.shutdown(socket.SHUT_WR)
print(connection.makefile().read(), os.environ["https_proxy"])
"""


@pytest.fixture
def bubblewrap():
    require("bubblewrap")
    return Bubblewrap()


@pytest.fixture
def of():
    with surroundings() as found:
        yield found


class Server:
    """Answers what connects with what it has read, and notes it."""

    def __init__(self):
        self.received = []
        self.tasks = []

    def accept(self, reader, writer):
        self.tasks.append(asyncio.create_task(self._answer(reader, writer)))

    async def _answer(self, reader, writer):
        self.received.append(await reader.read())
        writer.write(b"answer")
        await writer.drain()
        writer.close()


def policy_for(of, network=Network.DOMAINS):
    return SandboxPolicy(
        write_roots=(Path(of["workspace"]),),
        network=network,
        environment=(("PATH", "/usr/local/bin:/usr/bin:/bin"),),
    )


async def run(backend, of, command, server=None, timeout_seconds=60, policy=None):
    """Run a program; return its end and what it has written."""
    pieces = []
    end = await run_program(
        command,
        directory=Path(of["workspace"]),
        timeout_seconds=timeout_seconds,
        on_stdout=pieces.append,
        sandbox=(backend, policy or policy_for(of)),
        on_connection=server.accept if server is not None else None,
    )
    return end, b"".join(pieces).decode()


@pytest.mark.long
def test_what_a_program_connects_to_is_served_outside(bubblewrap, of):
    server = Server()
    end, output = asyncio.run(run(bubblewrap, of, [PYTHON, "-c", ASK], server))
    assert (end.exit_code, output) == (0, "answer http://127.0.0.1:3128\n")
    assert server.received == [b"hello"]


@pytest.mark.long
def test_each_program_has_a_listener_of_its_own(bubblewrap, of):
    async def several():
        servers = [Server() for _ in range(3)]
        await asyncio.gather(*(run(bubblewrap, of, [PYTHON, "-c", ASK], each) for each in servers))
        return [each.received for each in servers]

    assert asyncio.run(several()) == [[b"hello"]] * 3


def test_there_is_no_other_way_out(bubblewrap, of):
    attempts = f"""
import socket
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {of["port"]})),
    (socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80)),
    (socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53)),
    (socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::1", 443)),
):
    with socket.socket(family, kind) as each:
        try:
            each.connect(address)
            print("connected", address)
        except OSError as error:
            pass
try:
    print(socket.getaddrinfo("example.com", 80))
except OSError:
    print("none")
"""
    _, output = asyncio.run(run(bubblewrap, of, [PYTHON, "-c", attempts], Server()))
    assert output == "none\n"


def test_nothing_is_left_when_the_program_exceeds_its_time(bubblewrap, of):
    async def stopped():
        await run(bubblewrap, of, ["true"], Server())  # starts the fork server, which stays
        server, before = Server(), set(Path("/proc/self/fd").iterdir())
        end, _ = await run(bubblewrap, of, ["sleep", "60"], server, timeout_seconds=0.5)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        return end.exit_code, tasks, set(Path("/proc/self/fd").iterdir()) - before

    assert asyncio.run(stopped()) == (None, set(), set())


def test_the_program_does_not_run_without_its_listener(bubblewrap, of, monkeypatch):
    # Without its own network there is none that can be entered by the owner of the namespace of users.
    monkeypatch.setattr(Bubblewrap, "_namespaces", lambda *_: ("--ro-bind", "/", "/"))
    monkeypatch.setattr(bubblewrap_module, "_mounts", lambda _: ())
    with pytest.raises(SandboxError):
        asyncio.run(run(bubblewrap, of, ["touch", f"{of['outside']}/ran"], Server()))
    assert not Path(of["outside"], "ran").exists()


def test_a_listener_goes_with_domains_alone(bubblewrap, of):
    for policy, server in ((policy_for(of), None), (policy_for(of, Network.NONE), Server())):
        with pytest.raises(ValueError, match=r"Network\.DOMAINS"):
            asyncio.run(run(bubblewrap, of, ["true"], server, policy=policy))


def test_landlock_has_no_domains(of):
    with pytest.raises(SandboxError, match="domains"):
        asyncio.run(run(Landlocked(), of, ["true"], Server()))


AS_USER = """
import _socket, os, subprocess, sys
sys.path.append(sys.argv[1])
from oneclaw_core.process.network_namespace import hand_out_listener
near, far = _socket.socketpair()
info, writing = os.pipe()
blocked, block = os.pipe()
command = [
    "bwrap", "--unshare-user", "--unshare-net", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc",
    "--info-fd", str(writing), "--block-fd", str(blocked), sys.executable, "-c", sys.argv[2],
]
program = subprocess.Popen(command, pass_fds=(writing, blocked), env={"https_proxy": "proxy"})
os.close(writing)
said = b""
while piece := os.read(info, 1000):
    said += piece
    if b"}" in said:
        break
print(hand_out_listener(int(said.partition(b'"child-pid":')[2].partition(b",")[0].strip(b" }\\n")), far.fileno()))
os.write(block, b"x")
descriptor = int.from_bytes(near.recvmsg(1, 100)[1][0][2], sys.byteorder)
connection = _socket.socket(fileno=_socket.socket(fileno=descriptor)._accept()[0])
print(connection.recv(100))
connection.send(b"answer")
connection.close()
program.wait()
"""


@pytest.mark.long
@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user")
@pytest.mark.usefixtures("bubblewrap")
def test_an_ordinary_user_can_open_the_listener(of):
    package = Path(of["root"], "oneclaw_core", "process")
    package.mkdir(parents=True)
    for each in (package.parent, package):
        each.chmod(0o755)
    for name in ("network_namespace.py", "python_worker.py"):
        shutil.copy(Path(process.__file__).with_name(name), package)
        (package / name).chmod(0o644)
    ended = subprocess.run(
        [PYTHON, "-I", "-S", "-u", "-c", AS_USER, of["root"], ASK],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout, ended.stderr) == ("True\nb'hello'\nanswer proxy\n", "")
