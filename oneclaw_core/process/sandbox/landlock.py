"""Landlock: rules of the Linux kernel that say which files and ports a process may use.

With seccomp it confines functions of Python, and programs where there is no bubblewrap.

Landlock only allows, so what is hidden is what no rule names: a directory that holds something hidden gets no rule, and
those beside the hidden thing get one each. It cannot keep a process from changing the permissions and times of files
elsewhere, and inside a directory where new files can be made it can neither hide nor protect one.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from oneclaw_core.errors import SandboxError
from oneclaw_core.process.sandbox.confinement import system_call
from oneclaw_core.process.sandbox.policy import SHELL, Access, Network, Prepared, SandboxPolicy, Strength
from oneclaw_core.process.sandbox.seccomp import build_filter, filter_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


_CREATE_RULESET, _ADD_RULE = 444, 445
_VERSION_FLAG, _PATH_BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIRECTORY = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _DEVICE_CONTROL = 1 << 14, 1 << 15
_MAKE_DEVICES = 1 << 6 | 1 << 11
# Of a file, only these can be allowed.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _DEVICE_CONTROL
_READ = _EXECUTE | _READ_FILE | _READ_DIRECTORY
# By the version of Landlock that brought the last of them.
_ALL_RIGHTS = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF}
_ALL_RIGHTS_NOW = 0xFFFF
_ABSTRACT_SOCKETS = 1 << 0
_NETWORK_VERSION, _SCOPE_VERSION, _NO_NETWORK, _OWN_SCOPE = 4, 6, 3, 3
# Nothing is kept in them, and programs cannot do without.
_DEVICES = ("null", "zero", "full", "random", "urandom")
GAPS = (
    "sizes and times of files elsewhere can be seen",
    "permissions, times and attributes of files elsewhere can be changed",
    "hidden and protected files in a writable directory are neither",
    "names and command lines of other processes can be seen",
    "folders elsewhere can be watched for changes",
    "a single domain cannot be allowed",
)
_OLDEST_VERSION = 6


class Landlocked:
    """Runs programs that enter a Landlock ruleset and a seccomp filter before they are run."""

    name = "landlock"
    # A rule names a port, and would let every host through.
    allows_domains = False

    def probe(self) -> Strength:
        """Find what it enforces here."""
        reason = self._reason()
        if reason:
            return Strength(is_available=False, reason=reason, remedy="use Linux 6.12 or newer, or install bubblewrap")
        return Strength(is_available=True, gaps=GAPS)

    def wrap(self, command: Sequence[str], policy: SandboxPolicy, directory: Path) -> Prepared:
        """Prepare a program; see :class:`~oneclaw_core.process.sandbox.policy.SandboxBackend`."""
        if policy.network is Network.DOMAINS:
            raise SandboxError("Landlock cannot allow single domains")
        # A limit of processes would count all those of the user.
        limits = replace(policy.limits, processes=None).in_shell()
        program = filter_file(policy)
        try:
            ruleset = make_ruleset(policy)
        except BaseException:
            os.close(program)
            raise
        return Prepared(
            command=(SHELL, "-c", f'{limits}; exec "$@"', "sh", *command),
            directory=directory,
            environment=policy.environment_with(policy.temporary),
            ruleset=ruleset,
            program=program,
        )

    def _reason(self) -> str:
        if sys.platform != "linux":
            return "Landlock exists only on Linux"
        try:
            build_filter()
        except NotImplementedError as error:
            return str(error)
        if landlock_version() < _OLDEST_VERSION:
            return "Landlock of this kernel is switched off, or too old to keep signals inside"
        return ""


def landlock_version() -> int:
    """Return the version of Landlock, 0 if this kernel does not have it or it is switched off."""
    try:
        return system_call(_CREATE_RULESET, None, 0, _VERSION_FLAG)
    except OSError:
        return 0


def make_ruleset(policy: SandboxPolicy) -> int:
    """Make a ruleset from a policy.

    Returns:
        A descriptor, to be entered with :func:`~oneclaw_core.process.sandbox.confinement.confine` and closed.

    Raises:
        OSError: The kernel does not have Landlock, or refuses a rule.
    """
    version = landlock_version()
    rights = _ALL_RIGHTS.get(version, _ALL_RIGHTS_NOW)
    fields = [rights]
    if version >= _NETWORK_VERSION:
        fields.append(_NO_NETWORK if policy.network is Network.NONE else 0)
    if version >= _SCOPE_VERSION:
        fields.append(_OWN_SCOPE)
    ruleset = system_call(_CREATE_RULESET, struct.pack(f"={len(fields)}Q", *fields), 8 * len(fields), 0)
    try:
        for path, access in allowed_paths(policy):
            wanted = rights & (~_MAKE_DEVICES & ~_DEVICE_CONTROL if access is Access.WRITE else _READ)
            _allow(ruleset, path, wanted)
        if policy.is_system_readable:
            for name in _DEVICES:
                _allow(ruleset, Path("/dev", name), rights & (_READ_FILE | _WRITE_FILE))
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def make_scope() -> int | None:
    """Make a ruleset that keeps programs from abstract Unix sockets of others, and nothing else.

    Returns:
        A descriptor, to be entered with :func:`~oneclaw_core.process.sandbox.confinement.enter_scope` and closed;
        ``None`` if this kernel cannot do that.
    """
    if landlock_version() < _SCOPE_VERSION:
        return None
    return system_call(_CREATE_RULESET, struct.pack("=3Q", 0, 0, _ABSTRACT_SOCKETS), 24, 0)


def allowed_paths(policy: SandboxPolicy) -> Iterator[tuple[Path, Access]]:
    """Yield the paths that a ruleset names, with what is allowed there and below."""
    rules = policy.rules()
    special = {parent for path in rules for parent in path.parents}
    yield from _allowed_below(Path("/"), rules[Path("/")], rules, special)


def _allowed_below(
    path: Path, access: Access, rules: Mapping[Path, Access], special: set[Path]
) -> Iterator[tuple[Path, Access]]:
    # A writable directory stays whole: what is made in it later must be allowed too.
    is_whole = path not in special or access is Access.WRITE
    if is_whole and access is not Access.HIDDEN:
        yield path, access
    if path not in special:
        return
    if access is Access.READ:
        try:
            entries = {Path(entry.path) for entry in os.scandir(path)}
        except OSError:  # it cannot be read here, so not there either
            entries = set()
    else:
        entries = set()
    named = {each for each in (*rules, *special) if each.parent == path and each != path}
    for each in sorted(entries | named):
        yield from _allowed_below(each, rules.get(each, access), rules, special)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        # A link found in a directory leads to what has its own rule, or is hidden.
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:  # it is gone, or never was there
        return
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            return
        if not stat.S_ISDIR(mode):
            rights &= _OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor), 12)
        system_call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
    finally:
        os.close(descriptor)
