"""`oneclaw models`: the models that services offer, and the one that is used if none is chosen."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text, warn
from oneclaw_core.errors import NotFoundError, OneClawError, ProviderError, UsageError
from oneclaw_core.models import OFFLINE_MODEL, is_preconfigured, key_variable_of, provider_configs, split_model

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from oneclaw_core.cli.catalog import HomeCatalog
    from oneclaw_core.providers.base import ModelInfo, ProviderConfig

LIST_SECONDS = 20
_CHECK_SECONDS = 5
_VARIABLE = "ONECLAW_MODEL"
# The one provider type that asks nobody else.
OFFLINE_TYPE = OFFLINE_MODEL.partition("/")[0]

_log = logging.getLogger("oneclaw.cli")


@click.group()
def models() -> None:
    """List models, and choose the one that is used if none is named."""


@models.command("list")
@click.argument("provider", required=False)
@json_option
def list_models(provider: str | None, as_json: bool) -> None:
    """Ask PROVIDER, or every provider, which models it offers."""
    from oneclaw_core.cli.event_loop import run_async

    catalog = load_catalog()
    configs = provider_configs(catalog.states.settings, os.environ)
    if provider is not None and provider not in configs:
        raise NotFoundError(f"there is no provider {provider!r}; the providers are: {', '.join(configs)}")
    asked = list(configs.values()) if provider is None else [configs[provider]]
    answers = run_async(_ask_all(catalog, asked, LIST_SECONDS))
    documents = []
    for config, answer in zip(asked, answers, strict=True):
        if not isinstance(answer, str):
            documents += [_document(config, model) for model in answer]
        elif provider is not None:
            raise ProviderError(answer)
        else:
            warn(answer)
    if as_json:
        print_json(documents)
    else:
        print_table(("model", "context window"), [(each["model"], each["context_window"]) for each in documents])


@models.command("default")
@click.argument("model", required=False, metavar="[PROVIDER/MODEL]")
@json_option
def default(model: str | None, as_json: bool) -> None:
    """Show the model that is used if none is named, or choose another one."""
    if model is not None:
        _choose(model)
    else:
        _show(as_json)


def default_model(stored: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that is used if none is named, fit or not, and where that is said."""
    if environ.get(_VARIABLE):
        return environ[_VARIABLE], f"environment {_VARIABLE}"
    if stored.get("model"):
        return str(stored["model"]), "stored"
    return OFFLINE_MODEL, "default"


def lacks_key(config: ProviderConfig) -> bool:
    """Whether a provider is a vendor's own service, which wants a key, and has none."""
    is_vendors = is_preconfigured(config.name) and config.type != OFFLINE_TYPE and config.base_url is None
    return is_vendors and not config.api_key


def _show(as_json: bool) -> None:
    stored = load_catalog().states.settings
    model, source = default_model(stored, os.environ)
    if as_json:
        print_json({"model": model, "source": source})
    else:
        print_text(f"{model} ({source})")
    try:
        split_model(model, provider_configs(stored, os.environ))
    except UsageError as error:
        warn(str(error))


def _choose(model: str) -> None:
    from oneclaw_core.cli.stored import with_store
    from oneclaw_core.settings import check_setting

    catalog = load_catalog()
    checked = check_setting("model", model)
    config, name = split_model(checked, provider_configs(catalog.states.settings, os.environ))
    _warn_if_not_offered(catalog, config, name)
    with_store(lambda store: store.set_setting("model", checked))
    print_text(f"the default model is {checked}")
    if os.environ.get(_VARIABLE):
        warn(f"the environment variable {_VARIABLE} is set, and overrides this as long as it is")


def _warn_if_not_offered(catalog: HomeCatalog, config: ProviderConfig, name: str) -> None:
    """Warn of a likely slip of the pen; not every service lists all that it offers, or can be reached now."""
    from difflib import get_close_matches

    from oneclaw_core.cli.event_loop import run_async

    (answer,) = run_async(_ask_all(catalog, [config], _CHECK_SECONDS))
    if isinstance(answer, str) or not answer or name in (offered := [model.name for model in answer]):
        return
    close = get_close_matches(name, offered)
    hint = f"did you mean {' or '.join(close)}?" if close else f"see: oneclaw models list {config.name}"
    warn(f"{config.name} does not list a model {name!r}; {hint}")


async def _ask_all(
    catalog: HomeCatalog, configs: Iterable[ProviderConfig], seconds: float
) -> list[list[ModelInfo] | str]:
    """Ask services at the same time; of one that gives no answer, say why."""
    import asyncio

    return await asyncio.gather(*(_ask(catalog, config, seconds) for config in configs))


async def _ask(catalog: HomeCatalog, config: ProviderConfig, seconds: float) -> list[ModelInfo] | str:
    import asyncio

    factory = catalog.provider_types.get(config.type)
    if factory is None:
        return f"no plugin brings the provider type {config.type!r} of {config.name}"
    if lacks_key(config):
        return f"{config.name} was not asked, for it wants a key: set {key_variable_of(config.name)}"
    try:
        async with asyncio.timeout(seconds):
            # Somebody waits for this list: better a quick answer that a service is away than one after many tries.
            provider = factory(replace(config, connect_timeout_seconds=seconds, max_retries=0))
            try:
                return await provider.list_models()
            finally:
                await provider.aclose()
    except TimeoutError:
        return f"{config.name} did not answer within {seconds:.0f} s"
    except OneClawError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  # a plugin's provider may raise anything
        _log.error("listing the models of %s", config.name, exc_info=error)
        return f"{config.name} broke: {type(error).__name__}: {error}"


def _document(config: ProviderConfig, model: ModelInfo) -> dict[str, Any]:
    return {
        "model": f"{config.name}/{model.name}",
        "provider": config.name,
        "name": model.name,
        "context_window": model.context_window,
    }
