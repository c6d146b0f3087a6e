"""`oneclaw models`: the models that services offer, what is known about them, and the one that is used by default."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from oneclaw_core.cli.catalog import load_catalog
from oneclaw_core.cli.output import json_option, print_json, print_table, print_text, warn
from oneclaw_core.errors import NotFoundError, ProviderError, UsageError
from oneclaw_core.models import LEARNED_SETTING, MODEL_SETTING, OFFLINE_MODEL, provider_configs, split_model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from oneclaw_core.cli.model_answers import Answer
    from oneclaw_core.providers.base import ModelInfo, ProviderConfig
    from oneclaw_core.store.store import Store

_CHECK_SECONDS = 5
_VARIABLE = "ONECLAW_MODEL"


@click.group()
def models() -> None:
    """List models, say what is not known about one, and choose the default."""


@models.command("list")
@click.argument("provider", required=False)
@click.option("--refresh", is_flag=True, help="Ask also where a list of the last 24 hours is kept.")
@json_option
def list_models(provider: str | None, refresh: bool, as_json: bool) -> None:
    """List the models that PROVIDER, or every provider, offers.

    What a service says is kept for 24 hours; services on this machine are always asked.
    """
    from oneclaw_core.cli.event_loop import run_async
    from oneclaw_core.cli.model_answers import model_answers

    catalog = load_catalog()
    stored = catalog.states.settings
    configs = provider_configs(stored, os.environ)
    if provider is not None and provider not in configs:
        raise NotFoundError(f"there is no provider {provider!r}; the providers are: {', '.join(configs)}")
    asked = list(configs.values()) if provider is None else [configs[provider]]
    answers = run_async(model_answers(catalog, asked, is_refreshed=refresh))
    _report_problems(answers, is_only_one=provider is not None)
    documents = [document for answer in answers for document in _documents(answer, stored)]
    if as_json:
        print_json(documents)
    else:
        print_table(("model", "context window", "longest answer", "takes", "set by you"), map(_row, documents))


@models.command("default")
@click.argument("model", required=False, metavar="[PROVIDER/MODEL]")
@json_option
def default(model: str | None, as_json: bool) -> None:
    """Show the model that is used if none is named, or choose another one."""
    if model is not None:
        _choose(model)
    else:
        _show(as_json)


@models.command("set")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.argument("key")
@click.argument("value")
def set_override(model: str, key: str, value: str) -> None:
    """Say something about a model that its service does not say, or says wrongly.

    KEY is context_window or max_output_tokens, in tokens; input_media_types, such as image,pdf or none; or
    tool_loading, that is native, append or dispatch.
    """
    from oneclaw_core.cli.stored import with_store
    from oneclaw_core.model_overrides import check_override, model_overrides

    split_model(model, provider_configs(load_catalog().states.settings, os.environ))
    checked = check_override(key, value)

    async def work(store: Store) -> None:
        said = model_overrides(await store.settings(), model).document()
        await store.set_setting(MODEL_SETTING + model, {**said, key: checked})

    with_store(work)
    print_text(f"{key} of {model} is {_shown(checked)}")


@models.command("unset")
@click.argument("model", metavar="PROVIDER/MODEL")
@click.argument("key", required=False)
def unset_override(model: str, key: str | None) -> None:
    """Take back what was said about a model, or KEY of it alone, and forget what was found out about it."""
    from oneclaw_core.cli.stored import with_store

    setting = MODEL_SETTING + model

    async def work(store: Store) -> None:
        # Read as it is, for this is also how to get rid of what does not fit.
        said = (await store.settings()).get(setting)
        values = said if isinstance(said, dict) else {}
        is_said = said is not None and (key is None or key in values)
        is_learned = key in (None, "tool_loading") and await store.remove_setting(LEARNED_SETTING + model)
        if not is_said and not is_learned:
            raise NotFoundError(f"nothing like that is set for {model}; set are: {', '.join(values) or 'none'}")
        if is_said:
            rest = {name: value for name, value in values.items() if key is not None and name != key}
            await (store.set_setting(setting, rest) if rest else store.remove_setting(setting))

    with_store(work)
    print_text(f"{key} of {model} is not set any more" if key else f"nothing is set for {model} any more")


def default_model(stored: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[str, str]:
    """Find the model that is used if none is named, fit or not, and where that is said."""
    if environ.get(_VARIABLE):
        return environ[_VARIABLE], f"environment {_VARIABLE}"
    if stored.get("model"):
        return str(stored["model"]), "stored"
    return OFFLINE_MODEL, "default"


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

    checked = check_setting("model", model)
    config, name = split_model(checked, provider_configs(load_catalog().states.settings, os.environ))
    _warn_if_not_offered(config, name)
    with_store(lambda store: store.set_setting("model", checked))
    print_text(f"the default model is {checked}")
    if os.environ.get(_VARIABLE):
        warn(f"the environment variable {_VARIABLE} is set, and overrides this as long as it is")


def _warn_if_not_offered(config: ProviderConfig, name: str) -> None:
    """Warn of a likely slip of the pen; not every service lists all that it offers, or can be reached now."""
    from difflib import get_close_matches

    from oneclaw_core.cli.event_loop import run_async
    from oneclaw_core.cli.model_answers import model_answers

    (answer,) = run_async(model_answers(load_catalog(), [config], seconds=_CHECK_SECONDS))
    if answer.wants_key and answer.problem is not None:
        warn(answer.problem)
    offered = [model.name for model in answer.models.models] if answer.models is not None else []
    if not offered or name in offered:
        return
    close = get_close_matches(name, offered)
    hint = f"did you mean {' or '.join(close)}?" if close else f"see: oneclaw models list {config.name}"
    warn(f"{config.name} does not list a model {name!r}; {hint}")


def _report_problems(answers: list[Answer], *, is_only_one: bool) -> None:
    from oneclaw_core.cli.model_answers import age_text

    for answer in answers:
        if answer.problem is None:
            continue
        if answer.models is not None:
            warn(f"{answer.problem} (shown is its list of {age_text(answer.models)} ago)")
        elif is_only_one:
            raise ProviderError(answer.problem)
        elif not answer.wants_key:
            warn(answer.problem)
    keyless = [answer.config.name for answer in answers if answer.wants_key and answer.models is None]
    if keyless:
        warn(f"not asked, for there is no key: {', '.join(keyless)}; set one with: oneclaw keys set NAME")


def _documents(answer: Answer, stored: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Describe the models that a service lists, and those that the user has said something about."""
    from oneclaw_core.providers.base import ModelInfo

    provider = answer.config.name
    listed = {model.name: model for model in answer.models.models} if answer.models is not None else {}
    overridden = [key.partition("/")[2] for key in stored if key.startswith(f"{MODEL_SETTING}{provider}/")]
    infos = [*listed.values(), *(ModelInfo(name=name) for name in overridden if name not in listed)]
    return [_document(provider, info, stored, is_listed=info.name in listed) for info in infos]


def _document(provider: str, info: ModelInfo, stored: Mapping[str, Any], *, is_listed: bool) -> dict[str, Any]:
    full_name = f"{provider}/{info.name}"
    overrides: dict[str, Any] = {}
    if MODEL_SETTING + full_name in stored:  # pydantic is imported for those who need it
        from oneclaw_core.model_overrides import model_overrides

        said = model_overrides(stored, full_name)
        info, overrides = said.applied_to(info), said.document()
    return {
        "model": full_name,
        "provider": provider,
        "name": info.name,
        "display_name": info.display_name,
        "context_window": info.context_window,
        "max_output_tokens": info.max_output_tokens,
        "input_media_types": None if info.input_media_types is None else list(info.input_media_types),
        "is_listed": is_listed,
        "overrides": overrides,
    }


def _row(document: dict[str, Any]) -> tuple[object, ...]:
    from oneclaw_core.attachments import media_type_names

    media_types = document["input_media_types"]
    takes = "" if media_types is None else media_type_names(media_types) or "text only"
    return (
        document["model"],
        document["context_window"],
        document["max_output_tokens"],
        takes,
        ", ".join(document["overrides"]),
    )


def _shown(value: Any) -> str:
    return (", ".join(value) or "none") if isinstance(value, list) else str(value)
