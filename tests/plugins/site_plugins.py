"""Plugins that tests install into a directory of ``sys.path``."""

from oneclaw_core.plugins.catalogue import InstalledCatalogue

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


def install(site, name, source, metadata=""):
    info = site / f"{name}_plugin-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-plugin\nVersion: 1.2\n{metadata}")
    (info / "entry_points.txt").write_text(f"[oneclaw]\n{name} = {name}_plugin\n")
    (site / f"{name}_plugin.py").write_text(source)


def ours():
    """The plugins of this workspace, which these tests leave out."""
    return {each.name for each in InstalledCatalogue().plugins()} - {"builtin", "good", "hostile"}
