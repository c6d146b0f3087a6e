"""Model servers on this machine, found by asking the ports that they use."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

import httpx

from oneclaw_setup.services import COMPATIBLE, Service

PROBE_SECONDS = 1.5
_CONNECT_SECONDS = 0.5
_MAX_BYTES = 2_000_000
_MAX_MODELS = 500
_MAX_NAME_CHARACTERS = 200
_WANTS_KEY = (401, 403)
KNOWN_PORTS = {
    "ollama": ("Ollama", 11434),
    "lm_studio": ("LM Studio", 1234),
    "vllm": ("vLLM", 8000),
    "llama_cpp": ("llama.cpp", 8080),
}
"""Servers by the name that their provider gets, with their title and port."""


async def find_servers(ports: dict[str, tuple[str, int]] | None = None) -> list[Service]:
    """Ask all ports of model servers on this machine, side by side.

    What listens there and is not a model server is left out.

    Args:
        ports: title and port by name; by default those of well-known servers.
    """
    timeout = httpx.Timeout(PROBE_SECONDS, connect=_CONNECT_SECONDS)
    # No proxy is asked and no certificate is loaded: nothing leaves this machine.
    trusts_none = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(
        verify=trusts_none, timeout=timeout, trust_env=False, follow_redirects=False
    ) as client:
        known = KNOWN_PORTS if ports is None else ports
        found = await asyncio.gather(*(_probe(client, name, *each) for name, each in known.items()))
    return [each for each in found if each is not None]


async def _probe(client: httpx.AsyncClient, name: str, title: str, port: int) -> Service | None:
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            status, content = await _get(client, f"http://127.0.0.1:{port}/v1/models")
    except (httpx.HTTPError, TimeoutError, OSError, ValueError):
        return None
    models = _model_names(content)
    if status in _WANTS_KEY:
        models = []
    elif status != httpx.codes.OK or models is None:
        return None
    variable = f"{name.upper()}_API_KEY"
    return Service(
        name=name,
        title=title,
        type_name=COMPATIBLE,
        base_url=f"http://localhost:{port}/v1",
        key_variable=variable,
        wants_key=status in _WANTS_KEY,
        models=tuple(models or ()),
    )


async def _get(client: httpx.AsyncClient, url: str) -> tuple[int, bytes]:
    content = bytearray()
    async with client.stream("GET", url) as response:
        async for piece in response.aiter_bytes():
            content += piece
            if len(content) > _MAX_BYTES:
                raise ValueError("no list of models is that long")
        return response.status_code, bytes(content)


def _model_names(content: bytes) -> list[str] | None:
    """Read the names in a list of models; ``None`` if it is no such list."""
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return None
    entries = document.get("data") if isinstance(document, dict) else None
    if entries is None and isinstance(document, dict) and document.get("object") == "list":
        entries = []  # Ollama without a model
    if not isinstance(entries, list):
        return None
    names = [each.get("id") for each in entries[:_MAX_MODELS] if isinstance(each, dict)]
    return [
        each for each in names if isinstance(each, str) and 0 < len(each) <= _MAX_NAME_CHARACTERS and _is_line(each)
    ]


def _is_line(text: str) -> bool:
    return text.isprintable() and " " not in text
