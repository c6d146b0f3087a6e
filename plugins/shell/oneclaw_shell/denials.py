"""Find in the output of a command what its sandbox has blocked: a guess, and said to be one."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.process import Access, Network
from oneclaw_shell.closed_places import owner_of_closed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from oneclaw_core.files import PathGuard
    from oneclaw_core.process import SandboxPolicy

_MOST_LINES = 2_000
_MOST_DENIALS = 5
_REFUSED = re.compile(r"read-only file system|permission denied|operation not permitted|EROFS|EACCES|EPERM", re.I)
_MISSING = re.compile(r"no such file or directory|cannot find|does not exist|ENOENT|not found", re.I)
_NETWORK = re.compile(
    r"network is unreachable|could not resolve (?:host|proxy)|temporary failure in name resolution|ENETUNREACH"
    r"|name or service not known|EAI_AGAIN|getaddrinfo|nodename nor servname|no address associated with hostname"
    r"|failed to establish a new connection",
    re.I,
)
_HOST = re.compile(
    r"""(?:https?://|[Cc]ould\ not\ resolve\ host(?:name)?:?\ |host=['"]|getaddrinfo\ \w+\ |connect\ to\ )
    ([\w.-]+\.[A-Za-z]{2,})""",
    re.VERBOSE,
)
# Some programs write curly quotes.
_QUOTES = "'\"`\u2018\u2019\u201c\u201d"
_PATH = re.compile(rf"(?:^|[\s(:={_QUOTES}])(/[^\s:;,){_QUOTES}]+)")
_ANY_PATH = re.compile(rf"[{_QUOTES}]([^{_QUOTES}]+)[{_QUOTES}]|(\S+): (?:Read-only|Permission|Operation)")


@dataclass(frozen=True, slots=True)
class Denial:
    """Something that a sandbox has probably blocked.

    Attributes:
        kind: ``read``, ``write`` or ``network``.
        target: the path or host, ``""`` if it is not known.
        permission: what ``needs`` takes for it; ``""`` for a place that stays closed.
    """

    kind: str
    target: str
    permission: str


def find_denials(
    output: str,
    exit_code: int | None,
    policy: SandboxPolicy,
    directory: Path,
    paths: PathGuard,
    refused: Sequence[Denial] = (),
) -> list[Denial]:
    """Find what a sandbox has probably blocked.

    Args:
        output: what the command wrote.
        exit_code: its exit code; nothing was blocked that a command with 0 needed.
        policy: what held for it.
        directory: where it ran.
        paths: the directories of tools.
        refused: what its proxy has refused, which is certain, and stands first.
    """
    if exit_code == 0:
        return list(refused)[:_MOST_DENIALS]
    found: dict[Denial, None] = dict.fromkeys(refused)
    known = {each.target for each in refused}
    for line in output.splitlines()[-_MOST_LINES:]:
        for each in _in_line(line[:2_000], policy, directory, paths):
            if each.kind != "network" or policy.network is not Network.DOMAINS:
                found[each] = None
            elif not known:  # it has not used the proxy, so a grant of the host would not help
                found[replace(each, permission="unsandboxed")] = None
    # Without a name it is of use only if there is none with one.
    named = [each for each in found if each.target]
    return (named or list(found))[:_MOST_DENIALS]


def report(backend: str, denials: list[Denial], *, is_certain: bool = False) -> str:
    """Write a note for the model: what was blocked, and what to do."""
    facts = {"backend": backend, "denied": [asdict(each) for each in denials], "is_certain": is_certain}
    needs = list(dict.fromkeys(each.permission for each in denials if each.permission))
    seems = "has" if is_certain else "seems to have"
    advice = (
        f"If the user's task needs it, call exec again with needs {json.dumps(needs)} and a reason; the user is asked. "
        "Hidden files look as if they were not there."
        if needs
        else "It stays closed, as it belongs to the system or to OneClaw: find a way without it, or tell the user."
    )
    return f"[sandbox: {json.dumps(facts)}]\n[the sandbox {seems} blocked this. {advice}]"


def _in_line(line: str, policy: SandboxPolicy, directory: Path, paths: PathGuard) -> Iterator[Denial]:
    if policy.network is not Network.ALL and _NETWORK.search(line):
        host = _HOST.search(line)
        yield Denial("network", host[1], f"network:{host[1]}") if host else Denial("network", "", "unsandboxed")
        return
    if not (_REFUSED.search(line) or _MISSING.search(line)):
        return
    names = [match[1] for match in _PATH.finditer(line)]
    names += [match[1] or match[2] for match in _ANY_PATH.finditer(line)]
    for name in dict.fromkeys(names):
        path = directory / name
        if len(name) > 1_000 or "\0" in name or str(path).startswith(("/proc", "/sys", "/dev")):
            continue
        denial = _of_path(path, line, policy, paths)
        if denial is not None:
            yield denial


def is_temporary(path: Path, policy: SandboxPolicy) -> bool:
    """Return True for a path that leads into the temporary directory of the sandbox."""
    rules, temporary = policy.rules(), Path("/tmp")  # noqa: S108  # as the sandbox names it
    return next(each for each in (path, *path.parents) if each in rules) == temporary


def _of_path(path: Path, line: str, policy: SandboxPolicy, paths: PathGuard) -> Denial | None:
    try:
        path = path.resolve()
        there = next(each for each in (path, *path.parents) if each.exists())
    except (OSError, RuntimeError):
        return None
    if is_temporary(path, policy):
        return None
    access = policy.access(path)
    if access is Access.WRITE or path.parent == path:
        return None
    if access is Access.HIDDEN:
        # Whether it is there is hidden too.
        return Denial("read", str(path), "" if owner_of_closed("read", path, paths, policy) else f"read:{path}")
    if _REFUSED.search(line):
        return Denial("write", str(path), "" if owner_of_closed("write", there, paths, policy) else f"write:{there}")
    return None
