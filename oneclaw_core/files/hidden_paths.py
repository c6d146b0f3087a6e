"""Files that hold secrets: the one rule for all tools and the sandbox.

The rule goes by names. Upper and lower case count the same, for they do on some file systems. Symbolic links are
resolved, and the name before that counts too. A hard link under another name cannot be told from any other file.
Isolated calls import this module, so it imports little.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.types.text import INVISIBLE_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable

HIDDEN_FOLDERS = frozenset(
    {
        ".1password", ".aws", ".azure", ".bitcoin", ".docker", ".electrum", ".ethereum", ".gcloud", ".gnupg", ".kube",
        ".mozilla", ".oci", ".password-store", ".pki", ".putty", ".ssh", ".terraform.d", ".thunderbird",
    }
)  # fmt: skip
"""Folders of keys, wherever they lie."""

_HIDDEN_FILES = frozenset(
    {
        "_netrc", ".boto", ".dockercfg", ".dockerconfigjson", ".envrc", ".git-credentials", ".htpasswd", ".my.cnf",
        ".netrc", ".npmrc", ".pgpass", ".pypirc", ".s3cfg", ".terraformrc", ".vault-token",
        "application_default_credentials.json", "credentials", "token.json", "key4.db", "logins.json", "secring.gpg",
    }
)  # fmt: skip
_HIDDEN_SUFFIXES = (
    ".env", ".jks", ".kdbx", ".key", ".keystore", ".p12", ".pem", ".pfx", ".ppk", ".tfstate", ".tfstate.backup",
)  # fmt: skip
_HIDDEN_NAME = re.compile(
    r"""\.env[._-].*                                            # .env.local
    | id_(?:rsa|dsa|ecdsa|ed25519|xmss)(?:_sk)?(?:[._-].*)?     # keys of SSH, and copies of them
    | ssh_host_.*_key
    | (?:credentials?|secrets?)\.(?:json|ya?ml|toml|ini|cfg|conf|csv|xml|properties|db)
    | client_?secrets?.*\.json | service[_-]?account.*\.json
    | \..*_history                                              # of shells: commands with passwords in them
    """,
    re.VERBOSE | re.DOTALL,
)
# What a project shows instead of the file itself, and keys that are public.
_TEMPLATE = re.compile(r"(?:^|[._-])(?:dist|example|sample|schema|template|tmpl)(?=[._-]|$)")
_PUBLIC_NAME = re.compile(r".*\.pub|(?:ca|cert|chain|fullchain)(?:[._-]?(?:certs?|bundle|certificates))?\.pem")
# Certificates of authorities lie there as .pem, and programs cannot connect without them.
_PUBLIC_PLACES = (
    "/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/ssl/certs", "/usr/lib", "/usr/local/lib", "/usr/local/share",
    "/usr/share",
)  # fmt: skip
_SYSTEM_SECRETS = ("/etc/gshadow", "/etc/shadow", "/etc/ssl/private", "/etc/sudoers")
# In the user's directory, beside everything whose name begins with a dot.
_HIDDEN_AT_HOME = (
    "library/cookies", "library/keychains", "library/mail", "library/messages", "library/safari",
    "library/application support/firefox", "library/application support/google",
)  # fmt: skip
_UNSEEN = re.compile(f"[{INVISIBLE_CHARACTERS}\u200c\u200d]")


def is_hidden_name(name: str) -> bool:
    """Return True if a file or folder of this name is hidden wherever it lies."""
    name = folded_name(name)
    if name in HIDDEN_FOLDERS or name in _HIDDEN_FILES:
        return True
    if not (name.endswith(_HIDDEN_SUFFIXES) or _HIDDEN_NAME.fullmatch(name)):
        return False
    is_environment = name.startswith(".env") or name.endswith(".env")
    return not (is_environment and _TEMPLATE.search(name)) and not _PUBLIC_NAME.fullmatch(name)


def hidden_root(path: str | Path, opened: Iterable[Path] = ()) -> Path | None:
    """Find the file or folder that makes a path hidden: a grant has to name it, or something below.

    Args:
        path: absolute; a relative one lies in the current directory.
        opened: directories, such as the workspace and a trusted project, that are not hidden because of what they
            lie in. What is hidden in them stays so.

    Returns:
        An absolute path: of keys the outermost folder or file of such a name, else the dot-folder of the user's
        directory. ``None`` if the path is not hidden.
    """
    written = Path(os.path.abspath(path))  # noqa: PTH100  # not resolved: the name of a link counts
    try:
        resolved = written.resolve()
    except (OSError, RuntimeError):  # a loop of links, which nothing can open
        resolved = written
    directories = [Path(os.path.realpath(each)) for each in opened]
    for each in dict.fromkeys((resolved, written)):
        found = _root_by_name(each) or _root_by_place(each, directories)
        if found is not None:
            return found
    return None


def is_hidden(path: str | Path, opened: Iterable[Path] = ()) -> bool:
    """Return True if a path is hidden; see :func:`hidden_root` for the arguments."""
    return hidden_root(path, opened) is not None


def is_private_directory(directory: Path) -> bool:
    """Return True for a directory that is not a project: the user's own, all above it, or a dot-folder in it."""
    resolved, user_home = Path(os.path.realpath(directory)), user_directory()
    if resolved.parent == resolved or (user_home is not None and _is_inside(user_home, resolved)):
        return True
    return hidden_root(resolved) is not None


def user_directory() -> Path | None:
    """Return the user's own directory, resolved; ``None`` if it is not known."""
    home = os.path.expanduser("~")  # noqa: PTH111  # Path.home() raises
    return Path(os.path.realpath(home)) if os.path.isabs(home) else None  # noqa: PTH117


def _root_by_name(path: Path) -> Path | None:
    if _is_below(path, _SYSTEM_SECRETS):
        return path
    found = next((each for each in from_the_top(path) if is_hidden_name(each.name)), None)
    if found is not None and found.suffix.lower() == ".pem" and _is_below(found, _PUBLIC_PLACES):
        return None
    return found


def _root_by_place(path: Path, opened: list[Path]) -> Path | None:
    user_home = user_directory()
    if user_home is None:
        return None
    place = next((each for each in from_the_top(path) if _is_hidden_place(each, user_home)), None)
    if place is None or any(_is_inside(path, each) and _is_inside(each, place) for each in opened):
        return None
    return place


def _is_hidden_place(path: Path, user_home: Path) -> bool:
    if not _is_inside(path, user_home):
        # The user's directory may be mounted a second time, or be written in other letters.
        return path.name.startswith(".") and _is_same(path.parent, user_home)
    below = folded_name(str(path)[len(str(user_home)) :]).strip("/")
    return ("/" not in below and below.startswith(".")) or below in _HIDDEN_AT_HOME


def from_the_top(path: Path) -> list[Path]:
    """Return a path and all above it, the outermost first."""
    return [*reversed(path.parents), path]


def folded_name(name: str) -> str:
    """Return a name as it is compared: without case and invisible characters."""
    return (name if name.isascii() else _UNSEEN.sub("", name)).casefold()


def _is_inside(path: Path, directory: Path) -> bool:
    name, place = str(path), str(directory)
    return _is_at_or_below(name, place) or _is_at_or_below(folded_name(name), folded_name(place))


def _is_at_or_below(name: str, place: str) -> bool:
    # Of texts, since pathlib is slow and each command is checked.
    return name == place or name.startswith(place if place.endswith("/") else f"{place}/")


def _is_below(path: Path, places: Iterable[str]) -> bool:
    return any(_is_inside(path, Path(each)) for each in places)


def _is_same(path: Path, other: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), other.stat())
    except (OSError, ValueError):
        return False
