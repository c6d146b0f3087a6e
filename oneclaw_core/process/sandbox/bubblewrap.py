"""Bubblewrap: a separate program that runs others in new namespaces of Linux, with the mounts it is told.

The order of mounts matters, since a later one covers an earlier one. https://github.com/containers/bubblewrap
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.process.network_namespace import ADDRESS
from oneclaw_core.process.sandbox.landlock import make_scope
from oneclaw_core.process.sandbox.policy import SHELL, Access, Network, Prepared, SandboxPolicy, Strength
from oneclaw_core.process.sandbox.seccomp import INTERNET, UNIX, build_filter, in_memory
from oneclaw_core.process.sandbox_supervisor import BLOCK_DESCRIPTOR, INFO_DESCRIPTOR

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# Not those of the environment: tools can write in some of them.
_PLACES = "/usr/bin:/bin:/usr/local/bin:/run/current-system/sw/bin"
_TEMPORARY = Path("/tmp")  # noqa: S108  # inside, where no other program sees it
_PROBE_SECONDS = 10
_PROBED_FOLDERS = tuple(map(Path, ("/home", "/root", "/run")))
_LISTED = Path("/proc/net/unix")
_PATH_FIELD = 7
# Directories nearer to the root hold more than the sockets of one service.
_FEWEST_PARTS = 3
# A folder that nothing can be written to: else programs believe that they have saved a file there.
_EMPTY = ("--perms", "0555", "--tmpfs")
_PROXY = "http://{}:{}".format(*ADDRESS)
_NOT_BY_PROXY = "localhost,127.0.0.1,::1"
PROXY_VARIABLES = {
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"), _PROXY),
    **dict.fromkeys(("no_proxy", "NO_PROXY"), _NOT_BY_PROXY),
    "NODE_USE_ENV_PROXY": "1",
}
"""Environment variables by which programs find the way to the domains of a policy."""
# It reports the start and the end of the program, as SandboxSupervisor reads it. If the program has left processes,
# which "kill -0 -1" finds, it waits to be killed. Else it ends with the same status, which may be noticed first.
_WATCHER = (
    "exec 3>&2 2>/dev/null; {limits}; trap : HUP INT TERM; echo started >&9; "
    '(exec "$@" 2>&3 3>&- 9>&-); s=$?; if kill -0 -1; then echo $s left >&9; kill -STOP $$; fi; echo $s >&9; exit $s'
)
_INSTALL = "install bubblewrap, for example with: sudo apt install bubblewrap"


class Bubblewrap:
    """Runs programs in separate namespaces, by ``bwrap``.

    Args:
        program: the path of ``bwrap``; by default the one of the system.
    """

    name = "bubblewrap"
    allows_domains = True

    def __init__(self, program: str | None = None) -> None:
        self._program = program or shutil.which("bwrap", path=_PLACES)
        # Versions before 0.8 cannot; the filter of system calls refuses new namespaces too.
        self._disables_namespaces = True

    def probe(self) -> Strength:
        """Try what it enforces here, by running a program in it."""
        if self._program is None:
            return Strength(is_available=False, reason="bubblewrap (bwrap) is not installed", remedy=_INSTALL)
        try:
            reason = self._attempt()
            if "--disable-userns" in reason:
                self._disables_namespaces = False
                reason = self._attempt()
        except (OSError, NotImplementedError, subprocess.TimeoutExpired) as error:
            reason = str(error)
        if not reason:
            return Strength(is_available=True)
        remedy = "allow namespaces to users, or use the bubblewrap of the distribution; see docs/sandbox.md"
        return Strength(is_available=False, reason=f"bubblewrap cannot run here: {reason}", remedy=remedy)

    def wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        """Prepare a program; see :class:`~oneclaw_core.process.sandbox.policy.SandboxBackend`."""
        watcher = _WATCHER.format(limits=policy.limits.in_shell())
        return self._wrap([SHELL, "-c", watcher, "sh", *command], policy, directory)

    def _wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        if self._program is None:
            raise SandboxError(f"bubblewrap (bwrap) is not installed: {_INSTALL}")
        families: tuple[int, ...] = INTERNET
        scope: int | None = None
        if policy.has_unix_sockets:
            # With the machine's network come its abstract sockets, from which only Landlock keeps programs.
            scope = make_scope() if policy.network is Network.ALL and not self._has_privileges else None
            if scope is not None or policy.network is not Network.ALL:
                policy, families = _without_foreign_sockets(policy), (*INTERNET, UNIX)
        filter_ = in_memory(build_filter(families, can_start_programs=policy.can_start_programs))
        has_proxy = policy.network is Network.DOMAINS
        arguments = [*self._namespaces(policy), *_mounts(policy), "--seccomp", str(filter_), "--chdir", str(directory)]
        if has_proxy:
            arguments += ["--info-fd", str(INFO_DESCRIPTOR), "--block-fd", str(BLOCK_DESCRIPTOR)]
        return Prepared(
            command=(self._program, *arguments, "--", *command),
            directory=Path("/"),
            # Its own environment too: it can be read by what runs inside.
            environment=policy.environment_with(_TEMPORARY) | (PROXY_VARIABLES if has_proxy else {}),
            descriptors=(filter_,),
            ruleset=scope,
            has_namespaces=True,
        )

    def _namespaces(self, policy: SandboxPolicy) -> Iterator[str]:
        yield from ("--unshare-user", *(["--disable-userns"] if self._disables_namespaces else []))
        yield from ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
        if policy.network is not Network.ALL:
            yield "--unshare-net"
        yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "sandbox")

    @property
    def _has_privileges(self) -> bool:
        """True if bubblewrap gets its rights from its file, which it does not in a scope."""
        return self._program is not None and bool(os.stat(self._program).st_mode & stat.S_ISUID)  # noqa: PTH116

    def _attempt(self) -> str:
        """Run a program with all that a policy can ask for; return why that fails, ``""`` if it does not."""
        policy = SandboxPolicy(hidden_folders=tuple(filter(Path.is_dir, _PROBED_FOLDERS)))
        with self._wrap([shutil.which("true", path=_PLACES) or "/bin/true"], policy, Path("/")) as prepared:
            done = subprocess.run(  # noqa: S603  # a fixed program
                prepared.command,
                cwd="/",
                env={},
                pass_fds=prepared.descriptors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PROBE_SECONDS,
                check=False,
            )
        if done.returncode == 0:
            return ""
        said = done.stderr.decode("utf-8", "replace").strip().removeprefix("bwrap: ")
        return said or f"it ended with status {done.returncode}"


def _mounts(policy: SandboxPolicy) -> Iterator[str]:
    rules = policy.rules()
    if policy.temporary is not None:
        del rules[policy.temporary]
    if rules.pop(Path("/")) is Access.READ:
        yield from ("--ro-bind", "/", "/")
    yield from ("--dev", "/dev", "--proc", "/proc")
    if policy.temporary is not None:
        yield from ("--bind", str(policy.temporary), str(_TEMPORARY))
    else:
        yield from (*_EMPTY, str(_TEMPORARY))
    # The programs' temporary directory is neither of the two that a rule can name.
    temporary = str(_TEMPORARY)
    accesses = {"/": Access.READ if policy.is_system_readable else Access.HIDDEN, temporary: None}
    mounts: dict[str, Access] = {}
    for name, access in ((str(path), access) for path, access in rules.items()):
        if name == temporary:
            continue
        root = next(each for each in _above(name) if each in accesses)
        around = accesses[root]
        if around is access or not os.path.lexists(name):
            continue
        accesses[name] = access
        if access is Access.HIDDEN and around is None:
            continue
        mounts[name] = access
        if around is Access.WRITE:
            # A directory that is a mount cannot be renamed, so what is hidden or protected keeps its place.
            for each in _above(name, root):
                mounts.setdefault(each, Access.WRITE)
    for name in sorted(mounts, key=lambda each: each.count("/")):
        if mounts[name] is not Access.HIDDEN:
            yield from ("--bind" if mounts[name] is Access.WRITE else "--ro-bind", name, name)
        elif os.path.isdir(name):  # noqa: PTH112  # pathlib is slow
            yield from (*_EMPTY, name)
        else:
            yield from ("--ro-bind", "/dev/null", name)
    # As root, settings of the kernel could be written otherwise.
    yield from ("--remount-ro", "/proc")


def _above(name: str, root: str = "") -> Iterator[str]:
    """Yield the directories above a path and below a root, the nearest first."""
    while name != "/" and (name := name.rpartition("/")[0] or "/") != root:
        yield name


def _without_foreign_sockets(policy: SandboxPolicy) -> SandboxPolicy:
    """Hide the Unix sockets outside the directories that a policy writes: to read one is enough to connect to it.

    Each is hidden with its directory, if nothing else needs that.

    Raises:
        OSError: The sockets cannot be listed.
    """
    named = policy.rules()
    folders: set[Path] = set()
    files: set[Path] = set()
    for path in _sockets():
        if policy.access(path) is not Access.READ:
            continue
        folder = path.parent
        # A service that is started again makes its socket anew in the same directory.
        if len(folder.parts) > _FEWEST_PARTS and not any(each.is_relative_to(folder) for each in named):
            folders.add(folder)
        else:
            files.add(path)
    return replace(
        policy,
        hidden_folders=(*policy.hidden_folders, *sorted(folders)),
        hidden_files=(*policy.hidden_files, *sorted(files)),
    )


def _sockets() -> set[Path]:
    found = set()
    for line in _LISTED.read_text("utf-8", "surrogateescape").splitlines()[1:]:
        fields = line.split(" ", _PATH_FIELD)
        if len(fields) > _PATH_FIELD and fields[_PATH_FIELD].startswith("/"):
            found.add(Path(fields[_PATH_FIELD]).resolve())
    return found
