"""Plugins that tests install into a directory of ``sys.path``."""

import shutil

from oneclaw_core.plugins.loading import discover

GOOD = """
from oneclaw_core import hookimpl, tool

@tool
def good_tool() -> str:
    "Do good."
    return "good"

@hookimpl
def register_tools(register):
    register(good_tool)
"""


def install(site, name, source, metadata="", version="1.2"):
    info = site / f"{name}_plugin-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: {version}\n{metadata}")
    (info / "entry_points.txt").write_text(f"[oneclaw]\n{name} = {name}_plugin\n")
    (site / f"{name}_plugin.py").write_text(source)


def remove(site, name):
    for info in site.glob(f"{name}_plugin-*.dist-info"):
        shutil.rmtree(info)


def ours():
    """The plugins of this workspace, which these tests leave out."""
    return {each.name for each in discover() if (each.distribution or "").startswith("oneclaw-")} - {"builtin"}
