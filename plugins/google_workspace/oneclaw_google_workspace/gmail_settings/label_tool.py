"""The tool of the group ``google_gmail_settings`` for labels themselves."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from oneclaw_google_workspace.answers import compact, google_tool
from oneclaw_google_workspace.connecting import connect
from oneclaw_google_workspace.gmail.addresses import FORBIDDEN
from oneclaw_google_workspace.gmail.labels import MailLabels, create_label
from oneclaw_google_workspace.gmail_settings.reading import LABEL_FIELDS, label_row
from oneclaw_google_workspace.problems import GoogleError, invalid
from oneclaw_google_workspace.wording import listing, quoted

if TYPE_CHECKING:
    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.client import GoogleClient

# By Google's description of LabelColor, revision 20261005.
_PALETTE = (
    "000000 434343 666666 999999 cccccc efefef f3f3f3 ffffff fb4c2f ffad47 fad165 16a766 43d692 4a86e8 a479e2 f691b3 "
    "f6c5be ffe6c7 fef1d1 b9e4d0 c6f3de c9daf8 e4d7f5 fcdee8 efa093 ffd6a2 fce8b3 89d3b2 a0eac9 a4c2f4 d0bcf1 fbc8d9 "
    "e66550 ffbc6b fcda83 44b984 68dfa9 6d9eeb b694e8 f7a7c0 cc3a21 eaa041 f2c960 149e60 3dc789 3c78d8 8e63ce e07798 "
    "ac2b16 cf8933 d5ae49 0b804b 2a9c68 285bac 653e9b b65775 822111 a46a21 aa8831 076239 1a764d 1c4587 41236d 83334c"
)
_COLOR = re.compile(r"#[0-9a-f]{6}")
_MAX_NAME_CHARACTERS = 225


@google_tool
async def gmail_label_manage(
    action: str,
    label: str | None = None,
    name: str | None = None,
    label_list_visibility: str | None = None,
    message_list_visibility: str | None = None,
    background_color: str | None = None,
    text_color: str | None = None,
    *,
    context: ToolContext,
) -> dict[str, Any]:
    """Create, change or delete a label."""
    google = connect(context)
    body = compact(
        {
            "name": _checked_name(name) if name is not None else None,
            "labelListVisibility": label_list_visibility,
            "messageListVisibility": message_list_visibility,
            "color": _color(background_color, text_color),
        }
    )
    if action == "create":
        if label or "name" not in body:
            raise invalid("To create a label, give its name, and no label.")
        return await _create(google, body)
    if not label:
        raise invalid("Give label, the name or id of a label.")
    if action == "delete" and body:
        raise invalid("To delete a label, give nothing but label.")
    if action == "update" and not body:
        raise invalid("Give what to change about the label: name, visibility or colours.")
    labels = await MailLabels.of(google)
    label_id = labels.ids([label])[0]
    if label_id not in labels.own:
        raise invalid(f"{labels.name(label_id)} is one of Gmail's own labels, which cannot be changed or deleted.")
    if action == "delete":
        return await _delete(google, labels, label_id)
    changed = [word for word, key in _WORDS.items() if key in body]
    await google.ask(
        f"change the label {quoted(labels.name(label_id), _MAX_NAME_CHARACTERS)}: {', '.join(_described(body))}",
        "organize",
    )
    try:
        after = await google.call("gmail.users.labels.patch", id=label_id, body=body, fields=LABEL_FIELDS)
    except GoogleError as error:
        raise _with_palette(error, body) from None
    return {"status": "updated", "changed": changed, **label_row(after)}


_WORDS = {
    "name": "name",
    "label_list_visibility": "labelListVisibility",
    "message_list_visibility": "messageListVisibility",
    "colours": "color",
}


def _described(body: dict[str, Any]) -> list[str]:
    """Say in a question what a label becomes."""
    found = [f"name {quoted(body['name'], _MAX_NAME_CHARACTERS)}"] if "name" in body else []
    found += [f"{word} {body[key]}" for word, key in _WORDS.items() if key.endswith("Visibility") and key in body]
    colors = body.get("color", {})
    return found + ([f"text {colors['textColor']} on {colors['backgroundColor']}"] if colors else [])


async def _create(google: GoogleClient, body: dict[str, Any]) -> dict[str, Any]:
    labels = await MailLabels.of(google)
    existing = labels.find(body["name"])
    if existing is not None:
        return {"status": "exists", "id": existing, "name": labels.name(existing)}
    looks = _described({key: value for key, value in body.items() if key != "name"})
    look = f" ({', '.join(looks)})" if looks else ""
    await google.ask(f"create the label {quoted(body['name'], _MAX_NAME_CHARACTERS)}{look}", "organize")
    try:
        made, is_new = await create_label(google, body, LABEL_FIELDS)
    except GoogleError as error:
        raise _with_palette(error, body) from None
    return {"status": "created" if is_new else "exists", **label_row(made)}


async def _delete(google: GoogleClient, labels: MailLabels, label_id: str) -> dict[str, Any]:
    name = labels.name(label_id)
    await google.ask(
        f"delete the label {listing([name])} permanently, taking it off all its mail, which stays", "delete"
    )
    await google.delete("gmail.users.labels.delete", id=label_id)
    return {"status": "deleted", "id": label_id, "name": name}


def _checked_name(name: str) -> str:
    text = name.strip()
    if not text or FORBIDDEN.search(text) or len(text) > _MAX_NAME_CHARACTERS:
        raise invalid(f"The name of a label has 1 to {_MAX_NAME_CHARACTERS} characters, and no line ends.")
    if not all(part.strip() for part in text.split("/")):
        raise invalid(f"{text[:100]!r} has an empty part; Parent/Child nests a label.")
    return text


def _color(background: str | None, text: str | None) -> dict[str, str]:
    if background is None and text is None:
        return {}
    if background is None or text is None:
        raise invalid("background_color and text_color go together.")
    colors = [each.strip().lower() for each in (background, text)]
    if not all(_COLOR.fullmatch(each) for each in colors):
        raise invalid("Colours are written like #16a766.")
    return {"backgroundColor": colors[0], "textColor": colors[1]}


def _with_palette(error: GoogleError, body: dict[str, Any]) -> GoogleError:
    """Say which colours there are, where a colour may be what Google does not accept."""
    if error.status != 400 or "color" not in body or set(body["color"].values()) <= _palette():
        return error
    return invalid(f"{error} Colours must be of Gmail's palette: {' '.join(sorted(_palette()))}.")


def _palette() -> set[str]:
    return {f"#{each}" for each in _PALETTE.split()}
