"""What came and went, in words."""

import pytest

from oneclaw_core import OneClawError
from oneclaw_core.installing import plugin_changes
from oneclaw_core.installing.packages import InstalledPackage, find_installed
from oneclaw_core.installing.plugin_changes import LoadedPlugin, describe_changes, load_in_fresh_process
from oneclaw_core.installing.requirement import PluginRequirement

PDF = LoadedPlugin("pdf", "oneclaw-pdf", "0.1", tools=frozenset({"pdf_info", "pdf_text"}), groups=frozenset({"pdf"}))
NEWER = LoadedPlugin("pdf", "oneclaw-pdf", "0.2", tools=frozenset({"pdf_info", "pdf_page"}), groups=frozenset({"pdf"}))
ECHO = LoadedPlugin("echo", None, None, providers=frozenset({"echo"}), skills=frozenset({"shout"}))


def lines(before, after):
    return list(describe_changes({each.name: each for each in before}, {each.name: each for each in after}))


def test_nothing():
    assert lines([PDF, ECHO], [ECHO, PDF]) == []


def test_a_plugin_comes_and_goes():
    came = lines([], [PDF, ECHO])
    assert came == [
        "+ plugin echo (unknown package)",
        "  + providers: echo",
        "  + skills: shout",
        "+ plugin pdf (oneclaw-pdf 0.1)",
        "  + groups: pdf",
        "  + tools: pdf_info, pdf_text",
    ]
    assert lines([PDF, ECHO], []) == [line.replace("+", "-") for line in came]


def test_another_version_of_a_plugin():
    assert lines([PDF], [NEWER]) == [
        "  plugin pdf: oneclaw-pdf 0.1 -> oneclaw-pdf 0.2",
        "  - tools: pdf_text",
        "  + tools: pdf_page",
    ]


def test_the_plugins_of_a_fresh_process(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    builtin = load_in_fresh_process()["builtin"]
    assert (builtin.package, builtin.status) == ("oneclaw-core", "ok")
    assert "load_tool_group" in builtin.tools


@pytest.mark.parametrize(
    "program", ["#!/bin/sh\nexit 3\n", "#!/bin/sh\necho nonsense\n", "#!/bin/sh\necho '[{}]'\n", ""]
)
def test_a_process_that_breaks(tmp_path, monkeypatch, program):
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\n{program}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(plugin_changes.sys, "executable", str(interpreter))
    with pytest.raises(OneClawError, match=r"the plugins cannot be loaded .*: see oneclaw plugins list"):
        load_in_fresh_process()


def package(name, version="1", location=None):
    return InstalledPackage(name, version, (name,), location)


def by_name(*packages):
    return {each.name: each for each in packages}


def test_what_a_requirement_came_to():
    here = "file:///src/acme"
    before = by_name(package("acme", "1", here), package("other"))
    after = by_name(package("acme", "1", here), package("other", "2"), package("new", "1", "file:///src/new"))
    assert find_installed(PluginRequirement("other>1", "other"), before, after) == after["other"]
    assert find_installed(PluginRequirement("gone", "gone"), before, after) is None
    assert find_installed(PluginRequirement("/src/new", None, "file:///src/new"), before, after) == after["new"]
    assert find_installed(PluginRequirement("/src/acme", None, here), before, after) == after["acme"]
    assert find_installed(PluginRequirement("/src/x", None, "file:///src/x"), before, after) is None


def test_of_several_packages_from_one_place_the_one_that_changed_is_meant():
    here = "https://example.com/many"
    before = by_name(package("one", "1", here))
    after = by_name(package("one", "1", here), package("two", "1", here))
    assert find_installed(PluginRequirement("git+" + here, None, here), before, after) == after["two"]
    assert find_installed(PluginRequirement("git+" + here, None, here), {}, after) is None
