"""Providers and keys. A key can be set here; none is ever shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneclaw_core.plugins import WebForm, WebPage, WebTable
from oneclaw_serve.pages import SitePage

if TYPE_CHECKING:
    from oneclaw_core import ProviderState
    from oneclaw_core.plugins import WebRequest
    from oneclaw_serve.application import Site

_KEY: dict[str, Any] = {
    "type": "object",
    "required": ["provider", "key"],
    "properties": {
        "provider": {"type": "string"},
        "key": {
            "title": "Key",
            "type": "string",
            "format": "password",
            "description": "It replaces the stored key.",
        },
    },
}
_MODEL = {
    "type": "object",
    "required": ["model"],
    "properties": {"model": {"title": "Model", "type": "string", "description": "As PROVIDER/MODEL."}},
}


async def _list(site: Site, request: WebRequest) -> WebPage:
    configuration = site.claw.configuration
    notice = ""
    if request.method == "POST":
        form = request.form()
        if form.get("action") == "model":
            await configuration.models.set_default(form.get("model", "").strip())
            notice = "The default model is changed."
        else:
            await configuration.providers.set_key(form.get("provider", ""), form.get("key", ""))
            notice = f"The key of {form.get('provider', '')} is stored."
    states = await configuration.providers.list()
    with_key = [each.name for each in states if each.key_variable is not None]
    key_fields = {**_KEY, "properties": {**_KEY["properties"], "provider": {"title": "Provider", "enum": with_key}}}
    secrets = tuple(
        (each.key, "set" if each.source != "default" else "not set", f"oneclaw keys set {each.key}")
        for each in await configuration.settings.secrets()
    )
    model, source = await configuration.models.default()
    return WebPage(
        title="Providers and keys",
        notice=notice,
        parts=(
            WebTable(
                columns=("provider", "type", "address", "state", "key", "variable"),
                rows=tuple(_row(each) for each in states),
            ),
            WebForm(submit="Store the key", fields=key_fields, title="Key of a provider"),
            WebTable(columns=("default model", "from"), rows=((model, source),), title="Default model"),
            WebForm(submit="Choose the model", fields=_MODEL, hidden={"action": "model"}),
            WebTable(
                columns=("secret of a plugin", "state", "command that sets it"),
                rows=secrets,
                title="Secrets of plugins",
                empty="No plugin has a secret.",
            ),
        ),
    )


def _row(state: ProviderState) -> Any:
    key = f"set ({state.key_source})" if state.key_source else "not set" if state.key_variable else "needs none"
    enabled = "enabled" if state.is_enabled else "disabled"
    return state.display_name, state.type, state.base_url or "", enabled, key, state.key_variable or ""


PAGES = (SitePage("providers", "Providers and keys", _list, takes_forms=True),)
