"""The protocol between the program and systemd."""

import asyncio
import os
import socket

from oneclaw_core.services.manager import Supervisor


def test_systemd_is_told_when_the_services_are_ready(tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        environ = {
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "30000",
            "WATCHDOG_PID": str(os.getpid()),
        }

        async def run():
            ready = asyncio.Event()
            async with Supervisor(environ).watching(ready):
                await asyncio.sleep(0.02)
                ready.set()
                await asyncio.sleep(0.05)

        asyncio.run(run())
        listening.setblocking(False)
        found = []
        while len(found) == 0 or found[-1] != "STOPPING=1":
            found.append(listening.recv(100).decode())
    assert found[0] == "WATCHDOG=1"
    assert found.count("READY=1") == 1
    assert found.count("WATCHDOG=1") >= 2
    assert environ == {}  # the programs that tools start are not supervised


def test_without_a_supervisor_nothing_happens():
    async def run():
        async with Supervisor({}).watching(asyncio.Event()):
            await asyncio.sleep(0)

    asyncio.run(run())
