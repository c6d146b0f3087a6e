"""Questions in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oneclaw_core.cli import print_text, printable_line

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN_MODELS = 20


def choose(title: str, options: Sequence[str], default: int = 1) -> int:
    """Have one of some numbered lines chosen; return its index."""
    print_text(title)
    for number, option in enumerate(options, 1):
        print_text(f"{number:>3}  {printable_line(option)}")
    chosen: int = click.prompt("Number", type=click.IntRange(1, len(options)), default=default, err=True)
    return chosen - 1


def choose_model(names: Sequence[str], default: str | None = None) -> str:
    """Have a model chosen by its number, a part of its name, or its whole name.

    Args:
        names: what the service lists; there may be others.
        default: what Enter takes, if anything.
    """
    shown: Sequence[str] = names
    while True:
        if shown:
            print_text("Models:")
        for number, name in enumerate(shown[:SHOWN_MODELS], 1):
            print_text(f"{number:>3}  {printable_line(name)}")
        if len(shown) > SHOWN_MODELS:
            print_text(f"     and {len(shown) - SHOWN_MODELS} more: type a part of the name")
        enter = default or (shown[0] if len(shown) == 1 else None)
        typed: str = click.prompt("Model, by number or name", default=enter, err=True).strip()
        if not typed:
            continue
        if typed.isdecimal() and 1 <= int(typed) <= min(len(shown), SHOWN_MODELS):
            return shown[int(typed) - 1]
        if typed in names or typed == default or not names:
            return typed
        similar = [name for name in names if typed.lower() in name.lower()]
        if similar and similar != list(shown):
            shown = similar
            continue
        # A service may have models that it does not list.
        what = f"is a part of {len(similar)} names, but no" if len(similar) > 1 else "is not the name of a"
        if click.confirm(f"{printable_line(typed)} {what} model in the list. Use it?", default=False, err=True):
            return typed


def ask_key(title: str) -> str | None:
    """Ask for a key without showing it; ``None`` if nothing was typed."""
    typed: str = click.prompt(f"Key of {title} (not shown)", default="", hide_input=True, show_default=False, err=True)
    return typed.strip() or None


def confirm(question: str, *, default: bool = True) -> bool:
    """Ask a question with yes or no for an answer."""
    return click.confirm(question, default=default, err=True)
