"""The tools for model services. None of them reads or sets a key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from oneclaw_config.answers import answering, ask_to_change, required

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core import ProviderState, ToolContext


@answering()
async def list_providers(*, context: ToolContext) -> str:
    """List the model services, the user's own last."""
    states = await context.services.configuration.providers.list()
    return "\n".join(f"- {_described(state)}" for state in states)


@answering("creation_failed")
async def create_provider(name: str, type: str, api_base_url: str, *, context: ToolContext) -> str:  # noqa: A002
    """Add a model service; its id is made from its name."""
    display_name = required("name", name)
    type_name = required("type", type).lower()
    base_url = required("api_base_url", api_base_url)
    provider_id = re.sub(r"[^a-z0-9]+", "-", display_name.lower()).strip("-") or "provider"
    if not provider_id[0].isalpha():
        provider_id = f"provider-{provider_id}"
    providers = context.services.configuration.providers
    await providers.check_new(provider_id, type_name, base_url, display_name)
    consequence = _consequence(await providers.sends_stored_key(provider_id, type_name, base_url))
    await ask_to_change(
        context,
        f"add the provider {provider_id} ({type_name}) at {base_url}, {consequence}",
        f"provider {provider_id} at {base_url}",
    )
    state = await providers.add(provider_id, type_name, base_url, display_name, is_by_tool=True)
    key = (
        f"If it wants a key, the user sets it with: oneclaw keys set {state.name} (the environment variable "
        f"{state.key_variable} is not used for an address that a tool set). A key can be set by no tool, and must not "
        "be written into the conversation."
        if state.key_source is None
        else f"It has a key already (from the {state.key_source})."
    )
    return f"Provider '{display_name}' is added; its id is {state.name}, its models are {state.name}/MODEL. {key}"


@answering("update_failed")
async def update_provider(
    provider_id: str,
    name: str | None = None,
    api_base_url: str | None = None,
    is_active: bool | None = None,
    *,
    context: ToolContext,
) -> str:
    """Change what is given of a model service."""
    providers = context.services.configuration.providers
    before = await providers.get(required("provider_id", provider_id))
    changes: list[tuple[str, object, object]] = []
    if name is not None:
        changes.append(("name", before.display_name, required("name", name)))
    if api_base_url is not None:
        changes.append(("base URL", before.base_url, required("api_base_url", api_base_url)))
    if is_active is not None:
        changes.append(("active", before.is_enabled, is_active))
    lines = [f"{what}: {old} -> {new}" for what, old, new in changes if old != new]
    if not lines:
        return f"Nothing to change: provider {before.name} is as it was."
    wanted = {
        "display_name": name.strip() if name is not None and name.strip() != before.display_name else None,
        "base_url": api_base_url.strip() if api_base_url is not None and api_base_url != before.base_url else None,
    }
    await providers.check_change(before.name, is_enabled=is_active, **wanted)
    base_url = wanted["base_url"]
    consequence = ""
    if base_url is not None:
        consequence = f", {_consequence(await providers.sends_stored_key(before.name, before.type, base_url))}"
    await ask_to_change(
        context, f"change the provider {before.name}: {'; '.join(lines)}{consequence}", _subject(before.name, wanted)
    )
    await providers.change(before.name, is_enabled=is_active, is_by_tool=True, **wanted)
    return f"Provider {before.name} is changed: {'; '.join(lines)}."


def _consequence(sends_stored_key: bool) -> str:
    return "which will be sent the key that is stored for it" if sends_stored_key else "no key is sent"


def _subject(name: str, wanted: Mapping[str, str | None]) -> str:
    """Name a change of a provider; its key goes to the address, so an answer for one is none for another."""
    base_url = wanted["base_url"]
    return f"provider {name}" if base_url is None else f"provider {name} at {base_url}"


@answering("deletion_failed")
async def delete_provider(provider_id: str, *, context: ToolContext) -> str:
    """Remove a model service that was added."""
    providers = context.services.configuration.providers
    name = required("provider_id", provider_id)
    await providers.check_removal(name)
    state = await providers.get(name)
    await ask_to_change(
        context, f"remove the provider {name} ({state.base_url or state.type})", f"removal of provider {name}"
    )
    await providers.remove(name)
    kept = f" Its key is still stored; the user removes it with: oneclaw keys remove {name}" if state.key_source else ""
    return f"Provider {name} is removed.{kept}"


def _described(state: ProviderState) -> str:
    key = "needs no key" if state.key_variable is None else "key set" if state.key_source else "no key"
    return ", ".join(
        (
            f"{state.name}" + (f" ({state.display_name})" if state.display_name != state.name else ""),
            f"type {state.type}",
            f"at {state.base_url}" if state.base_url else "at its type's own address",
            "active" if state.is_enabled else "not active",
            "built in" if state.is_preconfigured else "added by the user",
            key,
        )
    )
