"""The tools for models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_config.answers import answering, ask_to_change, listed, required
from oneclaw_core import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oneclaw_core import ModelState, ToolContext


@answering()
async def list_models(provider_id: str, offset: int = 0, *, context: ToolContext) -> str:
    """List what is known of a provider's models, without asking its service."""
    provider = (await context.services.configuration.providers.get(required("provider_id", provider_id))).name
    states = await context.services.configuration.models.known(provider)
    if not states:
        return f"No models of {provider} are known: fetch_models asks its service, add_model adds one by hand."
    return _listed(states, provider, offset, context)


@answering("fetch_failed")
async def fetch_models(provider_id: str, *, context: ToolContext) -> str | ToolResult:
    """Ask a provider's service for its models."""
    provider = (await context.services.configuration.providers.get(required("provider_id", provider_id))).name
    states, (answer,) = await context.services.configuration.models.list(provider, is_refreshed=True)
    if answer.problem is not None:
        kind = "api_key_required" if answer.wants_key else "fetch_failed"
        return ToolResult.error(kind, f"{answer.problem[:1].upper()}{answer.problem[1:]}")
    if not states:
        return f"The service of {provider} lists no models; add_model adds one by hand."
    return _listed(states, provider, 0, context)


@answering("update_failed")
async def set_default_model(provider_id: str, model_id: str, *, context: ToolContext) -> str | ToolResult:
    """Choose the model that is used where none is named."""
    model = _full_name(provider_id, model_id)
    provider, _, name = model.partition("/")
    models = context.services.configuration.models
    await context.services.configuration.providers.get(provider)
    known = [state.info.name for state in await models.known(provider)]
    if known and name not in known:
        return ToolResult.error(
            "not_found",
            f"There is no model {name!r} of {provider}; see list_models, or add it with add_model. Known are: "
            + ", ".join(known[:20]),
        )
    before, source = await models.default()
    await models.check_model(model)
    await ask_to_change(context, f"change the default model from {before} to {model}", "default model")
    await models.set_default(model)
    note = ""
    if source.startswith("environment"):
        note = f" But the {source} names {before}, which goes before it as long as it is set."
    return f"The default model is {model}. Sessions without one of their own use it from their next message on.{note}"


@answering("add_failed")
async def add_model(provider_id: str, model_id: str, display_name: str | None = None, *, context: ToolContext) -> str:
    """Add a model that its service does not list."""
    model = _full_name(provider_id, model_id)
    shown_name = display_name.strip() if display_name is not None and display_name.strip() else None
    models = context.services.configuration.models
    await context.services.configuration.providers.get(model.partition("/")[0])
    await models.check_new(model)
    await ask_to_change(context, f"add the model {model}", f"model {model}")
    await models.add(model, shown_name)
    return f"Model {model} is added."


@answering("deletion_failed")
async def delete_model(provider_id: str, model_id: str, *, context: ToolContext) -> str:
    """Take back a model that was added."""
    model = _full_name(provider_id, model_id)
    models = context.services.configuration.models
    await context.services.configuration.providers.get(model.partition("/")[0])
    await models.check_removal(model)
    await ask_to_change(context, f"remove the model {model}", f"model {model}")
    await models.remove(model)
    return f"Model {model} is removed."


def _full_name(provider_id: str, model_id: str) -> str:
    provider, model = required("provider_id", provider_id), required("model_id", model_id)
    return f"{provider}/{model.removeprefix(f'{provider}/')}"


def _listed(states: Sequence[ModelState], provider: str, offset: int, context: ToolContext) -> str:
    lines = []
    for state in states:
        facts = [
            state.info.display_name if state.info.display_name != state.info.name else None,
            "added by the user" if state.is_added else "listed by the service" if state.is_listed else None,
            f"context window {state.info.context_window:,} tokens" if state.info.context_window else None,
            "default" if state.is_default else None,
        ]
        lines.append(f"- {state.info.name}: " + ", ".join(fact for fact in facts if fact))
    return listed(lines, offset, context, "list_models", f"provider_id {provider!r} and ")
