"""A real web page on loopback, and browsers and programs that use it."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager

import httpx

from oneclaw_core import ServiceContext
from oneclaw_core.http import ServerTokens


class Host:
    """The part of ``oneclaw serve`` that the service uses."""

    def __init__(self, claw):
        self.claw = self.app = claw
        self.sessions = claw.services.sessions
        self.link = asyncio.get_running_loop().create_future()

    def ready(self, service, detail):
        self.origin = detail

    def show(self, service, text):
        if not self.link.done():
            self.link.set_result(text.partition("#code=")[2])


class Rig:
    """A running server, and clients for it."""

    def __init__(self, claw, host, code):
        self.claw, self.origin, self.code = claw, host.origin, code
        self.storage = claw.store.plugin_storage("serve")

    def client(self, **headers):
        # Without certificates, which take long to read and are not needed for HTTP.
        return httpx.AsyncClient(base_url=self.origin, headers=headers, timeout=10, verify=False)

    async def program(self, *scopes, name="script"):
        token = await ServerTokens(self.storage).create(name, scopes or ("chat", "read"))
        return self.client(Authorization=f"Bearer {token}")

    async def browser(self):
        from oneclaw_serve.access import new_link_code

        headers = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin"}
        async with self.client(**headers) as first:
            answer = await first.post("/login", json={"code": await new_link_code(self.storage)})
        client = self.client(**headers)
        client.cookies.update(answer.cookies)
        return client


@asynccontextmanager
async def web_site(claw):
    """Run the server of the plugin ``serve`` in an open home until the end of the block."""
    from oneclaw_serve.service import run_web

    host, stopping = Host(claw), asyncio.Event()
    plugin = await claw.plugins.context_of("serve")
    context = ServiceContext(plugin, host, "web", "serve", {"host": "127.0.0.1", "port": 0}, stopping)
    task = asyncio.create_task(run_web(context))
    await asyncio.wait({task, host.link}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    try:
        yield Rig(claw, host, host.link.result())
    finally:
        stopping.set()
        await task


async def send_form(client, path, **fields):
    """Fill in the forms' token as the page does, and send a form."""
    page = (await client.get(path)).text
    token = re.search(r'name="form_token" value="(\w+)"', page)[1]
    return await client.post(path, data={**fields, "form_token": token}, headers={"Accept": "text/html"})


async def read_events(client, session, *, after=None, until="turn_ended", most=1_000):
    """Read events until one of a kind; return pairs of id and data."""
    headers = {"Last-Event-ID": after} if after else {}
    found = []
    async with client.stream("GET", f"/api/sessions/{session}/events", headers=headers) as response:
        assert response.status_code == 200, await response.aread()
        number = ""
        async for line in response.aiter_lines():
            if line.startswith("id: "):
                number = line[4:]
            elif line.startswith("data: "):
                found.append((number, httpx.Response(200, content=line[6:].encode()).json()))
                if found[-1][1].get("event") == until or len(found) >= most:
                    return found
    return found
