"""pip and uv: find out what would be installed, install exactly that, uninstall."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.tags import sys_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from oneclaw_core import OneClawError, __version__
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION
from oneclaw_devtools.installing.neutral_process import installer_environ, neutral_directory, run_installer
from oneclaw_devtools.installing.requirement import without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from oneclaw_devtools.installing.environment import Environment
    from oneclaw_devtools.installing.requirement import PluginRequirement

# Keeps the running program: a plugin for another version is refused.
_CORE_AS_IT_IS = f"{CORE_DISTRIBUTION}=={__version__}"
# A line of uv's plan: " + acme==1.0", " ~ acme==1.0 (from file:///acme)", " + acme @ file:///acme".
_UV_CHANGE = re.compile(r" [+~] ([\w.-]+)(?:==(\S+))?(?: \(from (\S+)\)| @ (\S+))?")


@dataclass(frozen=True, slots=True)
class ResolvedPackage:
    """A package that would be installed.

    Attributes:
        name: Normalised name.
        version: Its version; empty if only building it tells.
        url: Origin of its file.
        sha256: Hash of its file; empty for a folder or a repository.
        pin: Requirement for exactly this version or place.
    """

    name: str
    version: str
    url: str
    sha256: str
    pin: str


class PackageManager:
    """The pip of an environment, or uv for one without pip.

    Args:
        environment: Environment to install into.
        environ: Variables of the environment.
        show: Receives each line that the program prints.
    """

    def __init__(self, environment: Environment, environ: Mapping[str, str], show: Callable[[str], None]) -> None:
        self._environment = environment
        self._environ = installer_environ(environ)
        self._show = show

    def resolve(self, wanted: Sequence[PluginRequirement], *, upgrade: bool = False) -> list[ResolvedPackage]:
        """Find out what would be installed for some packages, dependencies included.

        Args:
            wanted: Packages to install.
            upgrade: True for the newest versions that fit.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        specifiers = ["--", _CORE_AS_IT_IS, *(each.specifier for each in wanted)]
        with neutral_directory() as directory:
            if self._environment.uv is not None:
                return self._resolve_with_uv(specifiers, wanted, directory, upgrade=upgrade)
            options = ["--dry-run", "--report=report.json", *(["--upgrade"] if upgrade else [])]
            self._run("install", [*options, *specifiers], directory)
            report = json.loads((directory / "report.json").read_text("utf-8"))
        return [read_report_entry(each, wanted) for each in report["install"]]

    def install(self, packages: Sequence[ResolvedPackage]) -> None:
        """Install what was resolved; a file with another hash is refused.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        hashed = [f"{each.pin} --hash=sha256:{each.sha256}" for each in packages if each.sha256]
        unhashed = [each.pin for each in packages if not each.sha256]
        again = [f"--reinstall-package={each.name}" for each in packages] if self._environment.uv else []
        for options, lines in ((["--require-hashes"], hashed), ([], unhashed)):
            if lines:
                with neutral_directory() as directory:
                    (directory / "requirements.txt").write_text("\n".join(lines) + "\n", "utf-8")
                    self._run("install", [*again, *options, "--no-deps", "-r", "requirements.txt"], directory)

    def uninstall(self, names: Sequence[str]) -> None:
        """Uninstall packages.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        with neutral_directory() as directory:
            self._run("uninstall", [*([] if self._environment.uv else ["--yes"]), "--", *names], directory)

    def _resolve_with_uv(
        self, specifiers: Sequence[str], wanted: Sequence[PluginRequirement], directory: Path, *, upgrade: bool
    ) -> list[ResolvedPackage]:
        """Read uv's plan, and the files and hashes from a lock of it."""
        options = ["--dry-run"]
        for each in wanted if upgrade else ():
            options += ["--upgrade-package", each.name]
            # A folder or a repository may have changed and kept its version.
            options += ["--reinstall-package", each.name] if each.is_direct else []
        lines = self._run("install", [*options, *specifiers], directory)
        pins = {}
        for name, version, origin, place in (match.groups() for match in map(_UV_CHANGE.fullmatch, lines) if match):
            url = origin or place
            pins[canonicalize_name(name)] = _pin(name, version, url, wanted), url
        if not pins:
            return []
        (directory / "requirements.in").write_text("\n".join(pin for pin, _ in pins.values()) + "\n", "utf-8")
        options = ["--quiet", "--no-deps", "--no-header", "--output-file=pylock.toml", "requirements.in"]
        self._run("compile", options, directory)
        lock = tomllib.loads((directory / "pylock.toml").read_text("utf-8"))
        return [read_lock_entry(each, *pins[each["name"]]) for each in lock["packages"]]

    def _run(self, verb: str, options: Sequence[str], directory: Path) -> list[str]:
        python, uv = str(self._environment.python), self._environment.uv
        if uv is not None:
            command = [str(uv), "pip", verb, "--color=never", "--python", python]
        else:
            # -P: the current directory is not searched for modules.
            command = [python, "-P", "-m", "pip", verb, "--no-input"]
            command += ["--user"] if verb == "install" and self._environment.is_user_site else []
        lines: list[str] = []

        def show(line: str) -> None:
            lines.append(line)
            self._show(line)

        status = run_installer([*command, *options], self._environ, directory, show)
        if status != 0:
            name = "pip" if uv is None else "uv"
            raise OneClawError(f"{name} failed (exit status {status}); what it printed above says why")
        return lines


def read_report_entry(item: Mapping[str, Any], wanted: Sequence[PluginRequirement]) -> ResolvedPackage:
    """Read an entry of pip's installation report; its origin is a direct URL (PEP 610)."""
    name, version = item["metadata"]["name"], item["metadata"]["version"]
    origin = item["download_info"]
    url, archive, repository = origin["url"], origin.get("archive_info", {}), origin.get("vcs_info")
    if repository:
        url = f"{repository['vcs']}+{url}@{repository['commit_id']}"
    if origin.get("subdirectory"):
        url += f"#subdirectory={origin['subdirectory']}"
    sha256 = archive.get("hashes", {}).get("sha256") or archive.get("hash", "").removeprefix("sha256=")
    pin = _pin(name, version, url if item["is_direct"] else None, wanted)
    return ResolvedPackage(canonicalize_name(name), version, without_credentials(url), sha256, pin)


def read_lock_entry(package: Mapping[str, Any], pin: str, url: str | None) -> ResolvedPackage:
    """Read an entry of a lock file (PEP 751)."""
    file = package.get("archive") or _best_file(package)
    url = url or file.get("url") or file.get("path", "")
    sha256 = file.get("hashes", {}).get("sha256", "")
    return ResolvedPackage(package["name"], package.get("version", ""), without_credentials(url), sha256, pin)


def _best_file(package: Mapping[str, Any]) -> Any:
    """Choose the wheel that fits the interpreter best, else the sdist."""
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    ranked: list[tuple[int, dict[str, Any]]] = []
    for wheel in package.get("wheels", ()):
        name = wheel.get("name") or unquote(urlsplit(wheel.get("url") or wheel["path"]).path.rpartition("/")[2])
        tags = parse_wheel_filename(name)[3]
        ranked += [(ranks[tag], wheel) for tag in tags if tag in ranks]
    return min(ranked, key=lambda each: each[0])[1] if ranked else package.get("sdist", {})


def _pin(name: str, version: str | None, url: str | None, wanted: Sequence[PluginRequirement]) -> str:
    if url is None:
        return f"{name}=={version}"
    asked = next((each.specifier for each in wanted if each.name == canonicalize_name(name)), "")
    # What installers print has no passwords.
    return f"{name} @ {url}" if asked == without_credentials(asked) else asked
