"""`oneclaw completion`: completion of commands in the user's shell, installed on request."""

from __future__ import annotations

import os
import shlex
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from oneclaw_core import OneClawError, UsageError
from oneclaw_core.cli import is_terminal, print_text
from oneclaw_setup.asking import confirm

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_ONECLAW_COMPLETE"
MARK = "# OneClaw completion"
_SOURCES_FILE = {"bash": ".bashrc", "zsh": ".zshrc"}


@dataclass(frozen=True, slots=True)
class Installation:
    """The files of a shell's completion.

    Attributes:
        script: what the shell reads.
        startup: the user's file that gets one line to read the script; ``None`` if the shell finds it by itself.
    """

    shell: str
    script: Path
    startup: Path | None

    @property
    def line(self) -> str:
        """The line in the startup file."""
        path = shlex.quote(str(self.script))
        return f"[ -r {path} ] && . {path} {MARK}"


def installation(shell: str) -> Installation:
    """Return where the completion of a shell belongs."""
    home = Path.home()
    if shell == "fish":
        config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
        return Installation(shell, config / "fish" / "completions" / "oneclaw.fish", None)
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    folder = Path(os.environ.get("ZDOTDIR") or home) if shell == "zsh" else home
    return Installation(shell, data / "oneclaw-completion" / f"oneclaw.{shell}", folder / _SOURCES_FILE[shell])


def script_of(shell: str) -> str:
    """Return the script that makes a shell complete ``oneclaw``."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    text = kind(click.Command("oneclaw"), {}, "oneclaw", VARIABLE).source_vars()
    script: str = kind.source_template % text
    if shell == "zsh":
        # The startup file may be read before the shell's own completion is loaded.
        script = "(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }\n" + script
    return f"{MARK}\n{script}"


def is_installed(shell: str) -> bool:
    """Return True if the completion of a shell is installed."""
    found = installation(shell)
    return found.script.is_file() and (found.startup is None or found.line in _lines(found.startup))


def install(found: Installation) -> None:
    """Write the script, and the line that reads it.

    Raises:
        OneClawError: a file cannot be written.
    """
    _write(found.script, script_of(found.shell))
    if found.startup is None:
        return
    lines = _lines(found.startup)
    if found.line not in lines:
        kept = [line for line in lines if not line.endswith(MARK)]
        _write(found.startup, "\n".join([*kept, found.line]) + "\n")


def remove(found: Installation) -> bool:
    """Remove the script and the line; return True if there was one of them.

    Raises:
        OneClawError: a file cannot be written.
    """
    is_there = found.script.is_file()
    if is_there:
        _write(found.script, None)
    lines = _lines(found.startup) if found.startup is not None else []
    kept = [line for line in lines if not line.endswith(MARK)]
    if found.startup is not None and kept != lines:
        _write(found.startup, "".join(f"{line}\n" for line in kept))
    return is_there or kept != lines


def users_shell() -> str | None:
    """Return the user's shell if completion is known for it."""
    name = Path(os.environ.get("SHELL", "")).name
    return name if name in SHELLS else None


def offer_installation() -> None:
    """Offer to install completion for the user's shell if it is not installed."""
    shell = users_shell()
    if (
        shell is not None
        and not is_installed(shell)
        and confirm(f"Complete oneclaw's commands in {shell}?", default=False)
    ):
        _install(installation(shell), says_yes=False)


@click.group()
def completion() -> None:
    """Complete commands, options and their names in the shell with the Tab key."""


@completion.command("install")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
@click.option("--yes", "says_yes", is_flag=True, help="Do it without asking.")
def install_command(shell: str | None, says_yes: bool) -> None:
    """Install completion for SHELL, by default yours. It shows the changes first."""
    if not says_yes and not is_terminal(sys.stdin):
        raise UsageError("there is no terminal to ask at: add --yes to install it")
    _install(installation(_chosen(shell)), says_yes=says_yes)


@completion.command("remove")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def remove_command(shell: str | None) -> None:
    """Remove the installed completion."""
    found = installation(_chosen(shell))
    print_text(f"completion for {found.shell} is {'removed' if remove(found) else 'not installed'}")


@completion.command("show")
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def show_command(shell: str | None) -> None:
    """Print the script for SHELL."""
    click.echo(script_of(_chosen(shell)))


def _install(found: Installation, *, says_yes: bool) -> None:
    print_text(f"This writes the script {found.script} (oneclaw completion show {found.shell} prints it)")
    if found.startup is not None:
        print_text(f"and, unless it is there, adds one line to {found.startup}:\n  {found.line}")
    if says_yes or confirm("Write that?"):
        install(found)
        print_text(f"completion for {found.shell} is installed, for shells that you open from now on")


def _chosen(shell: str | None) -> str:
    chosen = shell or users_shell()
    if chosen is None:
        raise UsageError(f"say which shell: {', '.join(SHELLS)}")
    return chosen


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise OneClawError(f"{path} cannot be read: {error.strerror or error}") from None


def _write(path: Path, text: str | None) -> None:
    """Write a file whole or not at all; ``None`` deletes it. A link is written through, and the mode is kept."""
    path = path.resolve()
    try:
        if text is None:
            path.unlink()
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o644
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".oneclaw-")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            Path(name).chmod(mode)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OneClawError(f"{path} cannot be written: {error.strerror or error}") from None
