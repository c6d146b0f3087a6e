"""Files and folders that other programs run or obey: the one list for all tools and the sandbox.

A write there is asked for by itself, whatever was granted for the directory. The list goes by names, in any case of
letters. Code of a project that its own programs run, such as ``Makefile`` or ``conftest.py``, is not in it: it is what
a user works on. Isolated calls import this module, so it imports little.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.files.hidden_paths import folded_name, from_the_top

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY_PARTS = frozenset({"HEAD", "objects", "refs"})
"""Git takes a folder with these for a repository, whatever its name is."""
OBEYED_PARTS = ("commondir", "config", "config.worktree", "hooks", "info/attributes")
"""Parts of a repository that change what git runs."""

_MOST_SETTINGS_BYTES = 100_000
# Hooks that git runs, and settings that it reads.
_PLACES = re.compile(rb"^\s*(hooksPath|path)\s*=\s*([^\r\n#;]+)", re.IGNORECASE | re.MULTILINE)
VERSION_CONTROL = frozenset({".bzr", ".git", ".hg", ".jj", ".sl", ".svn"})
"""Folders of version control; in a repository, ``.git`` can be a file."""

_CONTINUOUS_INTEGRATION = frozenset(
    {
        ".appveyor.yml", ".azure-pipelines", ".build.yml", ".buildkite", ".builds", ".circleci", ".cirrus.yml",
        ".codesandbox", ".drone.yml", ".forgejo", ".gitea", ".github", ".gitlab", ".gitlab-ci.yml",
        ".gitpod.dockerfile", ".gitpod.yml", ".idx", ".prow.yaml", ".replit", ".semaphore", ".teamcity", ".tekton",
        ".travis.yml", ".woodpecker", ".woodpecker.yml", ".zuul.d", ".zuul.yaml", "appveyor.yml",
        "azure-pipelines.yml", "bitbucket-pipelines.yml", "bitrise.yml", "buildspec.yml", "cloudbuild.yaml",
        "cloudbuild.yml", "codemagic.yaml", "jenkinsfile", "wercker.yml", "zuul.d", "zuul.yaml",
    }
)  # fmt: skip
_AGENTS = frozenset(
    {
        ".agents", ".aiassistant", ".aider.conf.yml", ".aider.model.settings.yml", ".amazonq", ".augment", ".bolt",
        ".claude", ".claude.json", ".cline", ".clinerules", ".codebuddy", ".codex", ".continue", ".copilot",
        ".crush.json", ".cursor", ".cursorrules", ".devin", ".factory", ".gemini", ".goose", ".goosehints", ".iflow",
        ".junie", ".kilocode", ".kiro", ".lingma", ".mcp.json", ".oneclaw", ".opencode", ".openhands", ".pi", ".qodo",
        ".qwen", ".roo", ".roomodes", ".roorules", ".rovodev", ".rules", ".tabnine", ".trae", ".windsurf",
        ".windsurfrules", ".zencoder", "agent.md", "agents.md", "agents.override.md", "claude.local.md", "claude.md",
        "codebuddy.md", "codex.md", "crush.json", "crush.md", "gemini.md", "iflow.md", "mcp.json", "opencode.json",
        "opencode.jsonc", "qwen.md", "replit.md", "warp.md",
    }
)  # fmt: skip
_EDITORS = frozenset(
    {
        ".devcontainer", ".devcontainer.json", ".dir-locals.el", ".emacs", ".emacs.d", ".exrc",
        ".externaltoolbuilders", ".fleet", ".helix", ".idea", ".lazy.lua", ".luarc.json", ".lvimrc", ".neoconf.json",
        ".nova", ".nvim.lua", ".nvimrc", ".project", ".run", ".terminals.json", ".theia", ".vim", ".vimrc",
        ".vimspector.json", ".vs", ".vscode", ".zed",
    }
)  # fmt: skip
_HOOKS = frozenset(
    {
        ".githooks", ".husky", ".lefthook", ".lefthook.toml", ".lefthook.yaml", ".lefthook.yml", ".overcommit.yml",
        ".pre-commit-config.yaml", ".pre-commit-config.yml", ".simple-git-hooks.json", "lefthook.toml",
        "lefthook.yaml", "lefthook.yml",
    }
)  # fmt: skip
_SETTINGS_OF_TOOLS = frozenset(
    {
        ".asdfrc", ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".bazelrc", ".bundle", ".cargo",
        ".config", ".ddev", ".direnv", ".envrc", ".erlang", ".gdbinit", ".ghci", ".gitconfig", ".gnuplot", ".hgrc",
        ".iex.exs", ".inputrc", ".ipython", ".irbrc", ".jupyter", ".jvmopts", ".lando.yml", ".latexmkrc", ".lldbinit",
        ".mise", ".mise.toml", ".mvn", ".npmrc", ".ocamlinit", ".octaverc", ".pdbrc", ".pdbrc.py", ".pnpmfile.cjs",
        ".profile", ".pryrc", ".pypirc", ".pythonrc", ".pythonstartup", ".renviron", ".rprofile", ".sbtopts",
        ".screenrc", ".tmux.conf", ".tool-versions", ".vagrant", ".yarn", ".yarnrc", ".yarnrc.yml", ".zlogin",
        ".zprofile", ".zshenv", ".zshrc", "autorun.inf", "bunfig.toml", "desktop.ini", "latexmkrc", "mise.local.toml",
        "mise.toml", "sitecustomize.py", "usercustomize.py",
    }
)  # fmt: skip
# Of Python, and the programs of packages of Node.js.
ENVIRONMENTS = frozenset({".bin", ".venv", "pyvenv.cfg", "venv"})
_NAMES = VERSION_CONTROL | _CONTINUOUS_INTEGRATION | _AGENTS | _EDITORS | _HOOKS | _SETTINGS_OF_TOOLS | ENVIRONMENTS
# Python runs lines of such files at its start; editors run tasks of the others.
_SUFFIXES = (".code-workspace", ".pth", ".sublime-project")


def is_protected_name(name: str) -> bool:
    """Return True if programs run or obey a file or folder of this name, wherever it lies."""
    name = folded_name(name)
    return name in _NAMES or name.endswith(_SUFFIXES)


def protected_root(path: str | Path, base: str | Path = "/") -> Path | None:
    """Find the file or folder that must not be written without a question about it; ``None`` for none.

    Args:
        path: absolute, or relative to the base; without symbolic links.
        base: a directory that counts as ordinary itself.

    Returns:
        The outermost such file or folder, relative if the path is.
    """
    obeyed: list[Path] = []
    for each in from_the_top(Path(path)):
        place = base / each
        if each.name and (_is_protected(place) or any(place.is_relative_to(other) for other in obeyed)):
            return each
        obeyed += _obeyed_from(place)
    return None


def _is_protected(place: Path) -> bool:
    is_environment = (place / "pyvenv.cfg").is_file()  # a virtual environment of Python, under any name
    return is_environment or is_protected_name(place.name) or completes_repository(place)


def _obeyed_from(folder: Path) -> Iterator[Path]:
    """Yield what has an ordinary name and is obeyed: by a link of a protected name, or by the settings of git."""
    try:
        with os.scandir(folder) as entries:
            links = [each.path for each in entries if each.is_symlink() and is_protected_name(each.name)]
    except OSError:  # it is no folder, or nothing can be made in it
        return
    targets = (Path(os.path.realpath(each)) for each in links)
    yield from (each for each in targets if each not in (folder, *folder.parents))
    if is_bare_repository(folder):
        yield from (folder / each for each in OBEYED_PARTS)
    git = folder / ".git"
    yield from named_places(read_settings(git), git, folder)


def read_settings(repository: Path) -> bytes:
    """Read the settings of a repository; nothing if it has none.

    Args:
        repository: the folder of git itself, such as ``.git``.
    """
    with suppress(OSError), (repository / "config").open("rb") as file:
        return file.read(_MOST_SETTINGS_BYTES)
    return b""


def named_places(settings: bytes, repository: Path, root: Path) -> Iterator[Path]:
    """Yield the hooks and settings below a root that the settings of a repository name, whether they are there or not.

    Args:
        settings: of the repository.
        repository: the folder of git itself.
        root: without symbolic links.
    """
    for name, value in _PLACES.findall(settings):
        if b"\0" in value:  # git refuses it, too
            continue
        base = repository.parent if name.lower() == b"hookspath" else repository
        path = Path(os.path.realpath(base / os.fsdecode(value.strip().strip(b'"'))))
        if path.is_relative_to(root) and path not in (root, *root.parents, *repository.parents):
            yield path


def completes_repository(path: Path) -> bool:
    """Return True if git takes the folder around a path for a repository, as soon as the path is there."""
    return path.name in REPOSITORY_PARTS and all(
        os.path.lexists(path.with_name(each)) for each in REPOSITORY_PARTS - {path.name}
    )


def is_bare_repository(folder: Path) -> bool:
    """Return True if git takes a folder of any name for a repository."""
    return all(os.path.lexists(folder / each) for each in REPOSITORY_PARTS)
