"""The assistants whose homes can be read, each with the files that it keeps."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from oneclaw_setup.imports.findings import Findings, FoundKey, FoundModel, FoundProvider
from oneclaw_setup.imports.mcp_servers import servers_file
from oneclaw_setup.imports.reading import (
    UnreadableError,
    add_notes,
    add_skills,
    object_in,
    read_json,
    read_text,
    read_variables,
    read_yaml,
    text_in,
)
from oneclaw_setup.services import hosted_service

if TYPE_CHECKING:
    from collections.abc import Callable

_BUILT_IN = {"openai", "anthropic", "gemini"}
_SAME = {"google": "gemini", "claude": "anthropic", "openai-api": "openai", "x-ai": "xai", "x.ai": "xai"}
_NOT_IN_NAMES = re.compile(r"[^a-z0-9_-]+")
_HERMES_SEPARATOR = "\n§\n"


def find_all() -> list[Findings]:
    """Look into the homes of all assistants that are known."""
    return [find_in(name) for name in SOURCES]


def find_in(source: str, folder: Path | None = None) -> Findings:
    """Look into the home of one assistant.

    Args:
        source: a key of :data:`SOURCES`.
        folder: its home; by default where it usually is.
    """
    title, usual, read = SOURCES[source]
    found = Findings(title, folder or usual())
    if found.folder.is_dir():
        try:
            read(found)
        except UnreadableError as error:
            found.problems.append(str(error))
    found.mcp_file = servers_file(source, found.folder)
    return found


def provider_name(text: str) -> str:
    """Make the name of a provider of what another assistant calls a service."""
    name = _NOT_IN_NAMES.sub("_", text.strip().lower()).strip("_-")
    return _SAME.get(text.strip().lower(), name if name[:1].isalpha() else f"own_{name}" if name else "own")[:60]


def is_known(provider: str) -> bool:
    """Return True if a provider needs no address."""
    return provider in _BUILT_IN or hosted_service(provider) is not None


def _hermes(found: Findings) -> None:
    config: Any = {}
    try:
        config = read_yaml(found.folder / "config.yaml")
    except UnreadableError as error:
        found.problems.append(str(error))
    variables = read_variables(found.folder / ".env")
    openai_url = variables.get("OPENAI_BASE_URL")
    for variable, value in variables.items():
        if variable.endswith("_API_KEY") and value:
            name = provider_name(variable.removesuffix("_API_KEY"))
            if name == "openai" and openai_url:
                # The key is for that address and no other.
                _add_provider(found, "hermes_openai", openai_url, value, f"{variable} in .env")
            elif is_known(name):
                found.add_key(name, value, f"{variable} in .env")
    custom = config.get("custom_providers") if isinstance(config, dict) else None
    entries = [(text_in(each, "name"), each) for each in custom or () if isinstance(each, dict)]
    entries += list(object_in(config, "providers").items())
    for name, each in entries:
        url = text_in(each, "base_url", "baseUrl", "url", "api")
        key = text_in(each, "api_key", "apiKey") or variables.get(text_in(each, "key_env", "keyEnv", "api_key_env"), "")
        if url and name:
            _add_provider(found, provider_name(str(name)), url, key, "config.yaml")
    _hermes_model(found, config)
    bundled = (read_text(found.folder / "skills" / ".bundled_manifest") or "").splitlines()
    add_skills(found, found.folder / "skills", without=[line.partition(":")[0] for line in bundled], depth=3)
    for name in ("MEMORY.md", "USER.md"):
        add_notes(found, found.folder / "memories" / name, separator=_HERMES_SEPARATOR)


def _hermes_model(found: Findings, config: Any) -> None:
    said = config.get("model") if isinstance(config, dict) else None
    model = said.strip() if isinstance(said, str) else text_in(said, "default", "model", "name")
    service = text_in(said, "provider")
    url = text_in(said, "base_url", "baseUrl")
    if not model:
        return
    if url:
        _add_provider(found, "hermes", url, text_in(said, "api_key", "apiKey"), "config.yaml")
        service = "hermes"
    _add_model(found, provider_name(service.removeprefix("custom:")) if service not in ("", "auto") else "", model)


def _nanobot(found: Findings) -> None:
    config = read_json(found.folder / "config.json")
    for name, each in object_in(config, "providers").items():
        key, url = text_in(each, "apiKey", "api_key"), text_in(each, "apiBase", "api_base")
        if url:
            _add_provider(found, provider_name(name), url, key, "config.json")
        elif key and is_known(provider_name(name)):
            found.add_key(provider_name(name), key, "config.json")
        elif key:
            found.problems.append(f"the key of {name}: no address is known for that service")
    defaults = object_in(object_in(config, "agents"), "defaults")
    presets = object_in(config, "modelPresets") or object_in(config, "model_presets")
    preset = object_in(presets, text_in(defaults, "modelPreset", "model_preset"))
    model, service = text_in(preset, "model"), text_in(preset, "provider")
    model, service = model or text_in(defaults, "model"), service or text_in(defaults, "provider")
    if model:
        _add_model(found, "" if service in ("", "auto") else provider_name(service), model)
    said = text_in(defaults, "workspace")
    workspace = found.folder / "workspace" if not said or said.startswith("~/.nanobot") else Path(said).expanduser()
    add_skills(found, workspace / "skills")
    add_notes(found, workspace / "memory" / "MEMORY.md")


def _llm(found: Findings) -> None:
    keys = {name: key for name, key in read_json(found.folder / "keys.json").items() if isinstance(key, str) and key}
    models = read_yaml(found.folder / "extra-openai-models.yaml")
    used = set()
    for each in models if isinstance(models, list) else ():
        url = text_in(each, "api_base")
        if url:
            key_name = text_in(each, "api_key_name")
            used.add(key_name)
            _add_provider(found, provider_name(_host(url)), url, keys.get(key_name, ""), "keys.json")
    for name, key in keys.items():
        if is_known(provider_name(name)):
            found.add_key(provider_name(name), key, "keys.json")
        elif name not in used and not name.startswith("//"):
            found.problems.append(f"the key {name!r}: no service of that name is known")
    default = (read_text(found.folder / "default_model.txt") or "").strip()
    prefixes = {
        "gpt-": "openai",
        "o1": "openai",
        "o3": "openai",
        "o4": "openai",
        "claude": "anthropic",
        "gemini": "gemini",
    }
    service = next((each for prefix, each in prefixes.items() if default.startswith(prefix)), "")
    if default:
        _add_model(found, service, default)


def _claude(found: Findings) -> None:
    add_skills(found, found.folder / "skills")
    add_notes(found, found.folder / "CLAUDE.md")


def _codex(found: Findings) -> None:
    add_skills(found, found.folder / "skills")
    add_notes(found, found.folder / "AGENTS.md")


def _add_provider(found: Findings, name: str, url: str, key: str, origin: str) -> None:
    """Note a service at an address, and its key."""
    if "${" in url or http_host(url) is None:
        found.problems.append(f"the provider {name}: its address cannot be used here")
        return
    if name in _BUILT_IN:
        name = f"{name}_own"  # those known from the start are at their own place
    if not any(isinstance(each, FoundProvider) and each.name == name for each in found.items):
        found.items.append(FoundProvider(name, url))
        found.add_key(name, key, origin, url)


def _add_model(found: Findings, service: str, model: str) -> None:
    """Note the default model if its service is known or was found."""
    providers = {each.name for each in found.items if isinstance(each, FoundProvider)}
    keys = {each.provider for each in found.items if isinstance(each, FoundKey)}
    if not service:
        first = provider_name(model.partition("/")[0])
        if "/" in model and "openrouter" in keys and first not in keys:
            service = "openrouter"
        elif "/" in model and (first in keys or first in providers):
            service, model = first, model.partition("/")[2]
    if service and f"{service}_own" in providers:
        service = f"{service}_own"
    if service and (service in providers or is_known(service)):
        found.items.append(FoundModel(f"{service}/{model.removeprefix(f'{service}/')}"))
    else:
        found.problems.append(f"the default model {model}: its service is not known here")


def _host(url: str) -> str:
    return (http_host(url) or "llm").replace(".", "_")


def http_host(url: str) -> str | None:
    """Return the host of an HTTP address, ``None`` if it is none."""
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and parts.port != 0  # which refuses what is not a port
    except ValueError:
        return None
    return parts.hostname if is_http else None


def _in_home(variable: str, name: str) -> Callable[[], Path]:
    return lambda: Path(os.environ.get(variable) or Path.home() / name).expanduser()


def _llm_folder() -> Path:
    return Path(os.environ.get("LLM_USER_PATH") or click.get_app_dir("io.datasette.llm"))


SOURCES: dict[str, tuple[str, Callable[[], Path], Callable[[Findings], None]]] = {
    "hermes": ("Hermes Agent", _in_home("HERMES_HOME", ".hermes"), _hermes),
    "nanobot": ("nanobot", _in_home("NANOBOT_HOME", ".nanobot"), _nanobot),
    "llm": ("llm", _llm_folder, _llm),
    "claude": ("Claude Code", _in_home("CLAUDE_CONFIG_DIR", ".claude"), _claude),
    "codex": ("Codex", _in_home("CODEX_HOME", ".codex"), _codex),
}
"""By name: the title, where its home usually is, and what reads it."""
