"""Capabilities that only the author knows: ``capabilities.json`` beside the entry module, read without running code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from oneclaw_core.capabilities.capability import Capability
from oneclaw_core.errors import OneClawError, PermissionDeniedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

FILE_NAME = "capabilities.json"
UNDECLARED = Capability("undeclared", "hosts, files, programs and services of your home: it may use any")
HOST, READ, WRITE, PROGRAM = "host", "read", "write", "program"
HOME_SERVICE, STORED_SECRET = "home service", "stored secret"
DECLARED_KINDS = (HOST, READ, WRITE, PROGRAM, HOME_SERVICE, STORED_SECRET)

_FORMAT = 1
_LISTS = {"hosts": HOST, "files": "", "programs": PROGRAM, "services": HOME_SERVICE, "secrets": STORED_SECRET}
_ACCESSES = {"read": (READ,), "write": (WRITE,), "read and write": (READ, WRITE)}
_LONGEST_BYTES = 256 * 1024
_LONGEST_TEXT = 500
# Services that give nothing of the home.
_FOR_ALL = frozenset({"loop", "on_program_loop"})
_Services = TypeVar("_Services")


class DeclarationError(OneClawError):
    """Raised when a ``capabilities.json`` is invalid; the message names the place in it."""


class Folder(Protocol):
    """A directory, or one in a wheel (``zipfile.Path``)."""

    def joinpath(self, name: str, /) -> Any:
        """Return what lies in it."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """The capabilities that a plugin declares.

    Attributes:
        plugin: its name, for messages.
        reasons: what it may do, and why; ``None`` if it declares nothing, and so may do anything of these kinds.
    """

    plugin: str = ""
    reasons: Mapping[Capability, str] | None = field(default_factory=dict)  # it is sent to worker processes

    @property
    def capabilities(self) -> frozenset[Capability]:
        """Its capabilities, to be compared with those that were reviewed."""
        return frozenset({UNDECLARED} if self.reasons is None else self.reasons)

    def allows_host(self, host: str) -> bool:
        """Return True if the plugin may connect to a host."""
        return self.allows(HOST, host.rstrip(".").casefold())

    def allows_file(self, access: str, names: Iterable[str]) -> bool:
        """Return True if the plugin may use a file.

        Args:
            access: ``read`` or ``write``.
            names: its path, absolute and as seen from the directories of tools.
        """
        return any(self.allows(access, name) for name in names)

    def require_host(self, host: str) -> None:
        """Go on only if the plugin may connect to a host.

        Raises:
            PermissionDeniedError: it may not; the message names the plugin.
        """
        if not self.allows_host(host):
            raise self._denied(HOST, host)

    def require_file(self, access: str, names: Sequence[str]) -> None:
        """Do the same for a file; see :meth:`allows_file`, which takes the same arguments."""
        if not self.allows_file(access, names):
            raise self._denied(access, names[0])

    def require(self, kind: str, name: str) -> None:
        """Do the same for a service of the home, or a stored secret."""
        if not self.allows(kind, name):
            raise self._denied(kind, name)

    def _denied(self, kind: str, name: str) -> PermissionDeniedError:
        what = {READ: "reading", WRITE: "writing"}.get(kind, f"the {kind}")
        return PermissionDeniedError(
            f"plugin {self.plugin}: its {FILE_NAME}, as far as it was reviewed, does not name {what} {name!r}. Its "
            f"author can add that, and the user review it with: oneclaw plugins review {self.plugin}",
            f"plugin.{kind.replace(' ', '_')}",
        )

    def within(self, reviewed: frozenset[Capability]) -> Declaration:
        """Return the part that the user has reviewed."""
        if UNDECLARED in reviewed:
            return self
        if self.reasons is None:
            return Declaration(
                self.plugin, dict.fromkeys((each for each in reviewed if each.kind in DECLARED_KINDS), "")
            )
        return Declaration(self.plugin, {each: reason for each, reason in self.reasons.items() if each in reviewed})

    def allows(self, kind: str, name: str) -> bool:
        """Return True if the plugin may use a service of the home, a stored secret or something else of a kind."""
        if self.reasons is None:
            return True
        return any(each.kind == kind and fnmatchcase(name, each.name) for each in self.reasons)


def beyond(capabilities: frozenset[Capability], reviewed: frozenset[Capability]) -> frozenset[Capability]:
    """Return the capabilities that were not reviewed. A review of "anything" has reviewed each part of it."""
    new = capabilities - reviewed
    if UNDECLARED in reviewed:
        return frozenset(each for each in new if each.kind not in DECLARED_KINDS)
    return new


def read_declaration(plugin: str, module: str, root: Folder) -> Declaration:
    """Read what a plugin declares; no code of it runs.

    Args:
        plugin: its name.
        module: what its entry point names, as ``module`` or ``module:attribute``.
        root: the directory that the module is in, such as ``site-packages``, or ``zipfile.Path(wheel)``.

    Raises:
        DeclarationError: the file is invalid.
    """
    *parents, name = module.partition(":")[0].strip().split(".")
    folder: Any = root
    for each in parents:
        folder = folder.joinpath(each)
    package = folder.joinpath(name)
    # A package has it inside; a module has it beside itself, with its own name where it is at the top.
    found = [package.joinpath(FILE_NAME)] if package.is_dir() else []
    found.append(folder.joinpath(FILE_NAME if parents else f"{name}.{FILE_NAME}"))
    for path in found:
        if path.is_file():
            return parse_declaration(plugin, _content(path))
    return Declaration(plugin, None)


def parse_declaration(plugin: str, content: bytes) -> Declaration:
    """Parse a ``capabilities.json``.

    Raises:
        DeclarationError: it is invalid; the message says where.
    """
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise DeclarationError(f"{FILE_NAME} of {plugin} is not JSON") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise DeclarationError(
            f'{FILE_NAME} of {plugin}: /format must be {_FORMAT}: {{"format": {_FORMAT}, "hosts": []}}'
        )
    unknown = [each for each in document if each not in _LISTS and each not in ("format", "$schema")]
    if unknown:
        raise DeclarationError(f"{FILE_NAME} of {plugin}: /{unknown[0]} is unknown; there are {', '.join(_LISTS)}")
    reasons: dict[Capability, str] = {}
    for key in _LISTS:
        entries = document.get(key, [])
        if not isinstance(entries, list):
            raise DeclarationError(f"{FILE_NAME} of {plugin}: /{key} must be a list")
        for place, entry in enumerate(entries):
            for capability in _capabilities(plugin, key, f"/{key}/{place}", entry):
                reasons[capability] = entry["reason"]
    return Declaration(plugin, reasons)


def _capabilities(plugin: str, key: str, place: str, entry: object) -> Iterator[Capability]:
    names = ("path", "access", "reason") if key == "files" else ("name", "reason")
    if not isinstance(entry, dict) or set(entry) != set(names):
        raise DeclarationError(f"{FILE_NAME} of {plugin}: {place} must be an object with {', '.join(names)}")
    for name in names:
        value = entry[name]
        if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > _LONGEST_TEXT:
            raise DeclarationError(f"{FILE_NAME} of {plugin}: {place}/{name} must be a text on one line")
    if key != "files":
        yield Capability(_LISTS[key], entry["name"].casefold() if key == "hosts" else entry["name"])
        return
    if entry["access"] not in _ACCESSES:
        raise DeclarationError(f"{FILE_NAME} of {plugin}: {place}/access must be one of: {', '.join(_ACCESSES)}")
    for kind in _ACCESSES[entry["access"]]:
        yield Capability(kind, entry["path"])


def _content(path: Any) -> bytes:
    try:
        with path.open("rb") as file:
            content: bytes = file.read(_LONGEST_BYTES + 1)
    except OSError as error:
        raise DeclarationError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(content) > _LONGEST_BYTES:
        raise DeclarationError(f"{path} is longer than {_LONGEST_BYTES:,} bytes")
    return content


def declared_services(services: _Services, declaration: Declaration | None) -> _Services:
    """Return the services that a plugin may use; the others raise ``PermissionDeniedError``.

    Args:
        services: of the open home.
        declaration: of the plugin; ``None`` if nothing holds it.
    """
    if declaration is None or declaration.reasons is None:
        return services
    held: Any = _DeclaredServices(services, declaration)
    return held  # type: ignore[no-any-return]


class _DeclaredServices:
    """The services that a plugin has declared."""

    def __init__(self, services: object, declaration: Declaration) -> None:
        self._services = services
        self._declaration = declaration

    def __getattr__(self, name: str) -> Any:
        if name not in _FOR_ALL:
            self._declaration.require(HOME_SERVICE, name)
        return getattr(self._services, name)
