"""Files and folders that other programs run or obey: the one list for all tools and the sandbox.

A write there is asked for by itself, whatever was granted for the directory. The list goes by names, in any case of
letters. Code of a project that its own programs run, such as ``Makefile`` or ``conftest.py``, is not in it: it is what
a user works on. Isolated calls import this module, so it imports little.
"""

from __future__ import annotations

from pathlib import Path

from oneclaw_core.files.hidden_paths import folded_name, from_the_top

_ENVIRONMENT_FILE = "pyvenv.cfg"
VERSION_CONTROL = frozenset({".bzr", ".git", ".hg", ".jj", ".sl", ".svn"})
"""Folders of version control; in a repository, ``.git`` can be a file."""

_CONTINUOUS_INTEGRATION = frozenset(
    {
        ".appveyor.yml", ".azure-pipelines", ".buildkite", ".circleci", ".cirrus.yml", ".drone.yml", ".forgejo",
        ".gitea", ".github", ".gitlab", ".gitlab-ci.yml", ".semaphore", ".teamcity", ".travis.yml", ".woodpecker",
        ".woodpecker.yml", "appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml",
        "cloudbuild.yml", "jenkinsfile",
    }
)  # fmt: skip
_AGENTS = frozenset(
    {
        ".agents", ".aider.conf.yml", ".aider.model.settings.yml", ".amazonq", ".augment", ".claude", ".claude.json",
        ".cline", ".clinerules", ".codex", ".continue", ".copilot", ".cursor", ".cursorrules", ".gemini",
        ".goosehints", ".junie", ".kilocode", ".kiro", ".mcp.json", ".oneclaw", ".opencode", ".qodo", ".qwen", ".roo",
        ".roomodes", ".roorules", ".rules", ".trae", ".windsurf", ".windsurfrules", "agent.md", "agents.md",
        "agents.override.md", "claude.local.md", "claude.md", "codex.md", "gemini.md", "mcp.json", "opencode.json",
        "opencode.jsonc", "qwen.md",
    }
)  # fmt: skip
_EDITORS = frozenset(
    {
        ".devcontainer", ".devcontainer.json", ".dir-locals.el", ".emacs", ".emacs.d", ".exrc", ".fleet", ".helix",
        ".idea", ".lvimrc", ".nvim.lua", ".nvimrc", ".run", ".terminals.json", ".vim", ".vimrc", ".vs", ".vscode",
        ".zed",
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
        ".bash_login", ".bash_logout", ".bash_profile", ".bashrc", ".bazelrc", ".ddev", ".direnv", ".gdbinit",
        ".gitconfig", ".hgrc", ".inputrc", ".ipython", ".jupyter", ".lando.yml", ".lldbinit", ".mise", ".mise.toml",
        ".profile", ".pythonrc", ".pythonstartup", ".screenrc", ".tmux.conf", ".tool-versions", ".vagrant", ".yarn",
        ".yarnrc", ".yarnrc.yml", ".zlogin", ".zprofile", ".zshenv", ".zshrc", "autorun.inf", "desktop.ini",
        "mise.local.toml", "mise.toml", "sitecustomize.py", "usercustomize.py",
    }
)  # fmt: skip
# Of Python, and the programs of packages of Node.js.
ENVIRONMENTS = frozenset({".bin", ".venv", "pyvenv.cfg", "venv"})
_NAMES = VERSION_CONTROL | _CONTINUOUS_INTEGRATION | _AGENTS | _EDITORS | _HOOKS | _SETTINGS_OF_TOOLS | ENVIRONMENTS
# Python runs lines of such files at its start.
_SUFFIXES = (".pth",)


def is_protected_name(name: str) -> bool:
    """Return True if programs run or obey a file or folder of this name, wherever it lies."""
    name = folded_name(name)
    return name in _NAMES or name.endswith(_SUFFIXES)


def is_virtual_environment(folder: Path) -> bool:
    """Return True if a folder is a virtual environment of Python, under any name."""
    return (folder / _ENVIRONMENT_FILE).is_file()


def protected_root(path: str | Path, base: str | Path = "/") -> Path | None:
    """Find the file or folder that must not be written without a question about it; ``None`` for none.

    Args:
        path: absolute, or relative to the base; without symbolic links.
        base: a directory that counts as ordinary itself.

    Returns:
        The outermost such file or folder, relative if the path is.
    """
    return next((each for each in from_the_top(Path(path)) if each.name and _is_protected(each, base)), None)


def _is_protected(path: Path, base: str | Path) -> bool:
    return is_protected_name(path.name) or is_virtual_environment(base / path)
