"""pip and uv: find out what would be installed, install exactly that, uninstall."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import re
import shutil
import signal
import site
import sys
import sysconfig
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import sys_tags
from packaging.utils import canonicalize_name, parse_wheel_filename

from oneclaw_core import OneClawError, __version__
from oneclaw_core.process import run_program, without_secrets
from oneclaw_devtools.fixed_names import CORE_DISTRIBUTION
from oneclaw_devtools.installing.requirement import without_credentials

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from oneclaw_devtools.installing.requirement import PluginRequirement

# Files in the prefix that tell who made the environment: its name, and the command that removes plugins from it.
_MAKERS = {
    "uv-receipt.toml": ("an environment of uv tool", "uv tool upgrade"),
    "pipx_metadata.json": ("an environment of pipx", "pipx reinstall"),
    "conda-meta": ("a conda environment", ""),
}
# Keeps the running program: a plugin for another version is refused.
_CORE_AS_IT_IS = f"{CORE_DISTRIBUTION}=={__version__}"
# Variables that installers read, with the passwords of private indexes.
_FOR_INSTALLERS = ("PIP_", "UV_", "GIT_")
# The words of pip and of uv for a package without a wheel.
_NO_WHEEL = re.compile(
    r"(?:No matching distribution found for|Wheels are required for|Building source distributions for) "
    r"`?([A-Za-z0-9][A-Za-z0-9._-]*)",
    re.IGNORECASE,
)
# pip looks for wheels only in an index, and builds what a package names by its place. So it may start no Python.
_REFUSAL = "a package would be built from its source, which runs its code; if you trust it: --allow-build NAME"
_PIP_WITHOUT_BUILDS = f"""
import os, runpy, sys
def refuse(event, arguments):
    starts = event in ("subprocess.Popen", "os.exec", "os.posix_spawn")
    if starts and os.path.basename(os.fsdecode(arguments[0] or "python")).startswith("python"):
        raise RuntimeError({_REFUSAL!r})
sys.addaudithook(refuse)
sys.argv[0] = "pip"
runpy.run_module("pip", run_name="__main__", alter_sys=True)
"""
_COLLECTED = re.compile(r"^\s*(?:Collecting ([A-Za-z0-9][A-Za-z0-9._-]*) ?@|Processing)", re.MULTILINE)
_DEADLINE_SECONDS = 1_800.0
_GRACE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment to install into.

    Attributes:
        description: Kind of environment, for people.
        uv: Path of uv if that installs; ``None`` for the environment's own pip.
        is_user_site: True to install among the user's own packages.
        remover: Command that removes plugins from it; empty if there is none.
        python: Its interpreter, not resolved: Python finds a virtual environment by this link.
    """

    description: str
    uv: str | None = None
    is_user_site: bool = False
    remover: str = ""
    python: str = sys.executable


@dataclass(frozen=True, slots=True)
class ResolvedPackage:
    """A package that would be installed.

    Attributes:
        name: Normalised name.
        version: Its version; empty if only building it tells.
        url: Origin of its file.
        sha256: Hash of its file; empty for a folder or a repository.
        pin: Requirement for exactly this version or place.
        is_yanked: True if its author has withdrawn it, as far as pip says.
    """

    name: str
    version: str
    url: str
    sha256: str
    pin: str
    is_yanked: bool = False

    @property
    def is_source(self) -> bool:
        """True if it is built, which runs its code, to be installed."""
        return not self.url.partition("#")[0].lower().endswith(".whl")


class InstallerError(OneClawError):
    """Raised when pip or uv failed.

    Attributes:
        lines: What it printed.
    """

    def __init__(self, message: str, lines: Sequence[str]) -> None:
        super().__init__(message)
        self.lines = tuple(lines)


class SourceOnlyError(OneClawError):
    """Raised when there is no wheel of a package.

    Attributes:
        name: Normalised name of the package.
    """

    def __init__(self, name: str) -> None:
        super().__init__(
            f"there is no wheel of {name} that fits this Python. If it has a source distribution, building that runs "
            f"its code before anything of it can be shown. If you trust it: --allow-build {name}"
        )
        self.name = name


def find_environment() -> Environment:
    """Find the environment of the running interpreter, and its pip, else uv.

    Raises:
        OneClawError: Installing is forbidden or impossible; the message says what to do.
    """
    is_virtual = sys.prefix != sys.base_prefix
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"  # PEP 668
    if not is_virtual and marker.exists():
        raise OneClawError(
            f"this Python belongs to the operating system, which allows no other packages in it "
            f"({marker}): install OneClaw with 'uv tool install oneclaw-core' or "
            "'pipx install oneclaw-core', or into a virtual environment, and run this command of that installation"
        )
    uv = None
    if not importlib.util.find_spec("pip") and (uv := _find_uv()) is None:
        raise OneClawError(
            f"neither pip nor uv is there to install into {sys.prefix}: run '{sys.executable} -m ensurepip', "
            "or install uv"
        )
    for file, (description, remover) in _MAKERS.items():
        if Path(sys.prefix, file).exists():
            return Environment(description, uv, remover=remover)
    if is_virtual:
        return Environment("a virtual environment " + ("without pip, through uv" if uv else "with pip"), uv)
    if Path(__file__).resolve().is_relative_to(Path(site.getusersitepackages()).resolve()):
        return Environment("the user's own packages", uv, is_user_site=True)
    return Environment("a Python outside a virtual environment", uv)


def _find_uv() -> str | None:
    # uv sets UV in what it runs.
    named = os.environ.get("UV", "")
    folders = [*os.environ.get("PATH", os.defpath).split(os.pathsep), f"{sys.prefix}/bin", "~/.local/bin"]
    # A relative folder in PATH depends on the current directory, which may be a checkout.
    absolute = os.pathsep.join(folder for folder in map(os.path.expanduser, folders) if Path(folder).is_absolute())
    return (shutil.which(named) if Path(named).is_absolute() else None) or shutil.which("uv", path=absolute)


class PackageManager:
    """The pip of an environment, or uv for one without pip.

    Args:
        environment: Environment to install into.
        show: Receives each line that the program prints.
    """

    def __init__(self, environment: Environment, show: Callable[[str], None]) -> None:
        self._environment = environment
        self._show = show

    def resolve(
        self, wanted: Sequence[PluginRequirement], *, upgrade: bool = False, built: Collection[str] = ()
    ) -> list[ResolvedPackage]:
        """Find out what would be installed for some packages, dependencies included.

        Only wheels are looked at, since a source distribution is built, and so runs its code, to be looked at.

        Args:
            wanted: Packages to install.
            upgrade: True for the newest versions that fit.
            built: Names of packages that may be built from their source.

        Raises:
            SourceOnlyError: There is no wheel of a package, or another one names its source.
            OneClawError: The program failed; what it printed says why.
        """
        found = self._resolve(wanted, upgrade=upgrade, built=built)
        for each in found:
            if each.is_source and each.name not in built:
                raise SourceOnlyError(each.name)
        return found

    def _resolve(
        self, wanted: Sequence[PluginRequirement], *, upgrade: bool, built: Collection[str]
    ) -> list[ResolvedPackage]:
        specifiers = ["--", _CORE_AS_IT_IS, *(each.specifier for each in wanted)]
        try:
            with _neutral_directory() as directory:
                if self._environment.uv is not None:
                    return self._resolve_with_uv(specifiers, wanted, directory, upgrade=upgrade, built=built)
                options = ["--dry-run", "--report=report.json", *(["--upgrade"] if upgrade else [])]
                self._run("install", [*options, *_wheels_only(built), *specifiers], directory, builds=bool(built))
                report = json.loads((directory / "report.json").read_text("utf-8"))
        except InstallerError as error:
            names = _names_without_wheel(error.lines)
            missing = next((each for each in names if each not in built and each != CORE_DISTRIBUTION), None)
            if missing is None:
                raise
            raise SourceOnlyError(missing) from None
        return [read_report_entry(each, wanted) for each in report["install"]]

    def install(self, packages: Sequence[ResolvedPackage]) -> None:
        """Install what was resolved; a file with another hash is refused.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        self._install(packages)

    def unpack(self, packages: Sequence[ResolvedPackage], folder: Path) -> None:
        """Put what was resolved into a folder, where it is not installed; a file with another hash is refused.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        self._install(packages, ["--quiet", "--target", str(folder)])

    def _install(self, packages: Sequence[ResolvedPackage], target: Sequence[str] = ()) -> None:
        hashed = [f"{each.pin} --hash=sha256:{each.sha256}" for each in packages if each.sha256]
        unhashed = [each.pin for each in packages if not each.sha256]
        again = [f"--reinstall-package={each.name}" for each in packages] if self._environment.uv else []
        built = [each.name for each in packages if each.is_source]
        again += [*target, *_wheels_only(built)]
        for options, lines in ((["--require-hashes"], hashed), ([], unhashed)):
            if lines:
                with _neutral_directory() as directory:
                    (directory / "requirements.txt").write_text("\n".join(lines) + "\n", "utf-8")
                    options = [*again, *options, "--no-deps", "-r", "requirements.txt"]
                    self._run("install", options, directory, builds=bool(built))

    def uninstall(self, names: Sequence[str]) -> None:
        """Uninstall packages.

        Raises:
            OneClawError: The program failed; what it printed says why.
        """
        with _neutral_directory() as directory:
            self._run("uninstall", [*([] if self._environment.uv else ["--yes"]), "--", *names], directory)

    def _resolve_with_uv(
        self,
        specifiers: Sequence[str],
        wanted: Sequence[PluginRequirement],
        directory: Path,
        *,
        upgrade: bool,
        built: Collection[str],
    ) -> list[ResolvedPackage]:
        """Read uv's plan, and the files and hashes from a lock of it."""
        options = ["--dry-run", *_wheels_only(built)]
        for each in wanted if upgrade else ():
            options += ["--upgrade-package", each.name]
            # A folder or a repository may have changed and kept its version.
            options += ["--reinstall-package", each.name] if each.is_direct else []
        lines = self._run("install", [*options, *specifiers], directory)
        plan = [line[3:] for line in lines if line.startswith((" + ", " ~ "))]
        pins: dict[str, tuple[str, str | None]] = {}
        for text, name, url in map(_read_planned, plan):
            pins[canonicalize_name(name)] = (_pin(name, url, wanted) if url else text), url
        if not pins:
            return []
        (directory / "requirements.in").write_text("\n".join(pin for pin, _ in pins.values()) + "\n", "utf-8")
        options = ["--quiet", "--no-deps", "--no-header", *_wheels_only(built)]
        options += ["--output-file=pylock.toml", "requirements.in"]
        self._run("compile", options, directory)
        lock = tomllib.loads((directory / "pylock.toml").read_text("utf-8"))
        return [read_lock_entry(each, *pins[each["name"]]) for each in lock["packages"]]

    def _run(self, verb: str, options: Sequence[str], directory: Path, *, builds: bool = True) -> list[str]:
        """Run pip or uv without a shell, input or terminal, and return the lines that it printed.

        Args:
            verb: The command of the installer.
            options: Its arguments.
            directory: Where it runs.
            builds: False if pip may build nothing; uv has an option for that.
        """
        python, uv = self._environment.python, self._environment.uv
        if uv is not None:
            command = [uv, "pip", verb, "--color=never", "--python", python]
        else:
            # -P: the current directory is not searched for modules.
            pip = ["-m", "pip"] if builds else ["-c", _PIP_WITHOUT_BUILDS]
            command = [python, "-P", *pip, verb, "--no-input"]
            is_for_user = verb == "install" and self._environment.is_user_site and "--target" not in options
            command += ["--user"] if is_for_user else []
        lines = [b""]

        def read(data: bytes) -> None:
            complete = len(lines) - 1
            lines[-1:] = (lines[-1] + data).split(b"\n")
            for line in lines[complete:-1]:
                self._show(line.decode(errors="replace"))

        running = run_program(
            [*command, *options],
            directory=directory,
            environ=installer_environ(os.environ),
            timeout_seconds=_DEADLINE_SECONDS,
            on_stdout=read,
            # An interrupted installer removes what it has begun.
            stop_signal=signal.SIGINT,
            grace_seconds=_GRACE_SECONDS,
        )
        try:
            status = asyncio.run(running).exit_code
        except (OSError, ValueError) as error:
            raise OneClawError(f"{command[0]} cannot be started: {getattr(error, 'strerror', None) or error}") from None
        if lines[-1]:
            read(b"\n")
        if status is None:
            raise OneClawError(f"{command[0]} was stopped: it was not done in {_DEADLINE_SECONDS:.0f} seconds")
        if status != 0:
            name = "pip" if uv is None else "uv"
            message = f"{name} failed (exit status {status}); what it printed above says why"
            raise InstallerError(message, [line.decode(errors="replace") for line in lines])
        return [line.decode(errors="replace") for line in lines]


def _names_without_wheel(lines: Sequence[str]) -> Iterator[str]:
    """Yield the normalised names of the packages that an installer has found no wheel of."""
    text = "\n".join(lines)
    found = _NO_WHEEL.findall(text)
    if _REFUSAL in text:
        # pip does not name what lies in a file or a folder.
        found += _COLLECTED.findall(text)[-1:]
    yield from map(canonicalize_name, filter(None, found))


def _wheels_only(built: Collection[str]) -> list[str]:
    return ["--only-binary", ":all:", *(option for name in built for option in ("--no-binary", name))]


def installer_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Remove the keys of model services from an environment; an installer runs the build scripts of packages."""
    return {
        **without_secrets(environ),
        **{name: value for name, value in environ.items() if name.startswith(_FOR_INSTALLERS)},
        "GIT_TERMINAL_PROMPT": "0",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONUNBUFFERED": "1",
    }


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
    pin = _pin(name, url, wanted) if item["is_direct"] else f"{name}=={version}"
    is_yanked = item.get("is_yanked") is True
    return ResolvedPackage(canonicalize_name(name), version, without_credentials(url), sha256, pin, is_yanked)


def read_lock_entry(package: Mapping[str, Any], pin: str, url: str | None) -> ResolvedPackage:
    """Read an entry of a lock file (PEP 751)."""
    file = package.get("archive") or _best_file(package)
    url = url or file.get("url") or file.get("path", "")
    sha256 = file.get("hashes", {}).get("sha256", "")
    return ResolvedPackage(package["name"], package.get("version", ""), without_credentials(url), sha256, pin)


def _read_planned(line: str) -> tuple[str, str, str | None]:
    """Read a line of uv's plan: ``acme==1.0``, ``acme==1.0 (from file:///acme)`` or ``acme @ file:///acme``.

    Returns:
        The requirement, its name, and its direct URL if it has one.

    Raises:
        OneClawError: The line is none of these.
    """
    text, _, origin = line.removesuffix(")").partition(" (from ")
    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        requirement = None
    url = origin or (requirement and requirement.url) or None
    if requirement is None or not (url or requirement.specifier):
        raise OneClawError(
            f"uv plans a package that OneClaw cannot read: {line[:200]!r}; nothing is installed. Install "
            "it with uv pip, or upgrade oneclaw-devtools"
        )
    return text, requirement.name, url


@contextmanager
def _neutral_directory() -> Iterator[Path]:
    """Make a temporary directory in which pip and uv find no configuration, such as that of a checkout."""
    with TemporaryDirectory(prefix="oneclaw-") as name:
        # uv also searches the folders above, up to the first uv.toml.
        Path(name, "uv.toml").touch()
        yield Path(name)


def _best_file(package: Mapping[str, Any]) -> Any:
    """Choose the wheel that fits the interpreter best, else the sdist."""
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    ranked: list[tuple[int, Any]] = []
    for wheel in package.get("wheels", ()):
        name = wheel.get("name") or unquote(urlsplit(wheel.get("url") or wheel["path"]).path.rpartition("/")[2])
        ranked += [(ranks[tag], wheel) for tag in parse_wheel_filename(name)[3] if tag in ranks]
    return min(ranked, key=lambda each: each[0])[1] if ranked else package.get("sdist", {})


def _pin(name: str, url: str, wanted: Sequence[PluginRequirement]) -> str:
    """Pin a package to a URL, with the password that the user gave: what installers print has none."""
    asked = next((each.specifier for each in wanted if each.name == canonicalize_name(name)), "")
    return f"{name} @ {url}" if asked == without_credentials(asked) else asked
