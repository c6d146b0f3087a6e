"""Time ``oneclaw tools list`` with a hundred more plugins, in this environment and in one with another version.

``python -m benchmarks.many_plugins --before ENVIRONMENT/bin/oneclaw`` runs both in turn, so that what else the machine
does strikes both alike. The figures are processor time, with that of subprocesses, since a busy machine says nothing by
the clock. Cold is with an empty cache, warm with what the run before has left there.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

TOOLS = 10
"""Tools of each plugin, in one group."""

_MODULE = """from oneclaw_core import hookimpl, tool

{tools}

@hookimpl
def register_tools(register):
    for each in ({names}):
        register(each)
"""
_TOOL = '''
@tool(group="{plugin}")
def {plugin}_{number}(name: str, count: int = 1) -> str:
    """Do the thing number {number} of {plugin} for a name.

    Args:
        name: whose.
        count: how often.
    """
    return name * count
'''


@dataclass
class Times:
    """Processor times in seconds of one version.

    Attributes:
        cold: without a cache.
        warm: with the cache of the run before.
    """

    cold: list[float] = field(default_factory=list)
    warm: list[float] = field(default_factory=list)


def write_plugins(folder: Path, count: int) -> None:
    """Write packages as they lie in ``site-packages``.

    Args:
        folder: to write them to.
        count: how many.
    """
    for plugin in [f"many_{number}" for number in range(count)]:
        names = [f"{plugin}_{number}" for number in range(TOOLS)]
        tools = "\n".join(_TOOL.format(plugin=plugin, number=number) for number in range(TOOLS))
        module, metadata = folder / plugin, folder / f"{plugin}-1.0.dist-info"
        module.mkdir()
        metadata.mkdir()
        (module / "__init__.py").write_text(_MODULE.format(tools=tools, names=", ".join(names)))
        (metadata / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: {plugin}\nVersion: 1.0\nRequires-Dist: oneclaw-core>=0.2,<0.4\n"
        )
        (metadata / "entry_points.txt").write_text(f"[oneclaw]\n{plugin} = {plugin}\n")
        (metadata / "RECORD").write_text(f"{plugin}/__init__.py,,\n")


def processor_seconds(program: Path, home: Path, plugins: Path) -> float:
    """Run ``oneclaw tools list`` and return how long processors worked for it.

    Args:
        program: the program ``oneclaw`` of an environment.
        home: of the user, with the cache.
        plugins: the folder with the packages.
    """
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ONECLAW_")}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environ |= {"HOME": str(home), "ONECLAW_HOME": str(home / "oneclaw"), "PYTHONPATH": str(plugins)}
    environ |= {"XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data")}
    before = os.times()
    subprocess.run(  # noqa: S603  # a program of an environment that the user names
        [str(program), "tools", "list"],
        env=environ,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def measure(programs: dict[str, Path], rounds: int, plugins: Path) -> dict[str, Times]:
    """Run the programs in turn.

    Args:
        programs: by name.
        rounds: how often; the first of each program is not counted, because it writes bytecode.
        plugins: the folder with the packages.
    """
    times = {name: Times() for name in programs}
    for number in range(rounds + 1):
        for name in sorted(programs, reverse=bool(number % 2)):
            with tempfile.TemporaryDirectory() as home:
                cold = processor_seconds(programs[name], Path(home), plugins)
                warm = processor_seconds(programs[name], Path(home), plugins)
            if number:
                times[name].cold.append(cold)
                times[name].warm.append(warm)
    return times


def main() -> None:
    """Measure, and print the medians in milliseconds, and the median of the ratios of the rounds."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_plugins", description=__doc__)
    parser.add_argument("--before", type=Path, help="the program oneclaw of an environment with another version")
    parser.add_argument("--now", type=Path, default=Path(sys.executable).with_name("oneclaw"), help="of this one")
    parser.add_argument("--plugins", type=int, default=100, help="how many more plugins; 100 by default")
    parser.add_argument("--rounds", type=int, default=7, help="how often each is run cold and warm; 7 by default")
    chosen = parser.parse_args()
    programs = {name: path for name, path in (("now", chosen.now), ("before", chosen.before)) if path is not None}
    with tempfile.TemporaryDirectory() as folder:
        write_plugins(Path(folder), chosen.plugins)
        times = measure(programs, chosen.rounds, Path(folder))
    for kind in ("cold", "warm"):
        found = {name: getattr(each, kind) for name, each in times.items()}
        text = ", ".join(f"{name} {median(values) * 1000:.0f} ms" for name, values in found.items())
        if "before" in found:
            ratios = sorted(now / before for now, before in zip(found["now"], found["before"], strict=True))
            text += f", ratio {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{kind}: {text}")


if __name__ == "__main__":
    main()
