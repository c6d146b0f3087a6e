"""``oneclaw plugins new``."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from datetime import date
from pathlib import Path

import click

from oneclaw_core import __version__
from oneclaw_core.cli import load_catalog, print_text
from oneclaw_devtools.scaffold.files import PluginDetails, make_folder, plugin_files
from oneclaw_devtools.scaffold.names import TakenNames, check_not_taken, plugin_names

_GIT_SECONDS = 5


@click.command("new", short_help="Make the package of a new plugin.")
@click.argument("name")
@click.option("--directory", default=".", type=click.Path(path_type=Path), help="Where to make its folder.")
@click.option("--author", help="The author in its license; by default the name from git.")
@click.option("--description", help="A description for people, in one sentence.")
def new(name: str, directory: Path, author: str | None, description: str | None) -> None:
    """Make the package of a new plugin: tools, a skill and tests to begin with."""
    names = plugin_names(name)
    check_not_taken(names, _taken_names())
    details = PluginDetails(
        names=names,
        author=author if author is not None else _author_in_git() or f"The authors of {names.distribution}",
        description=description if description is not None else f"{names.title}: tools for OneClaw.",
        core_version=__version__,
        year=date.today().year,
    )
    contents = plugin_files(details)
    folder = make_folder(directory, names.distribution, contents)
    print_text(f"made {folder}: the plugin {names.plugin} with two tools, a skill and tests, in {len(contents)} files")
    print_text(f'next:\n  cd {shlex.quote(str(folder))}\n  pip install --editable ".[test]"\n  pytest')


def _taken_names() -> TakenNames:
    catalog = load_catalog(is_quiet=True)
    return TakenNames(
        plugins=frozenset(record.name for record in catalog.plugins),
        tools=frozenset(catalog.registry.get_all_tool_names()),
        groups=frozenset(group.name for group in catalog.registry.get_all_group_definitions()),
        skills=frozenset(each.folder.name for each in catalog.skills),
    )


def _author_in_git() -> str | None:
    """Ask git for the user's name; ``None`` without git, or without one that can be used."""
    git = shutil.which("git")
    if git is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603  # nothing of it comes from anybody
            [git, "config", "--get", "user.name"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_GIT_SECONDS,
            check=False,
        )
        author = done.stdout.decode().strip()
    except (OSError, UnicodeError, subprocess.TimeoutExpired):
        return None
    return author if author.isprintable() and len(author) <= 100 else None
