"""Which plugins came and went, in words."""

import sys

import pytest
from oneclaw_devtools.installing.plugin_changes import describe_changes, find_problems, load_in_new_process

NOTHING = {"status": "ok", "tools": [], "groups": [], "providers": [], "skills": [], "problems": []}
PDF = NOTHING | {"package": "oneclaw-pdf", "version": "0.1", "tools": ["pdf_text", "pdf_info"], "groups": ["pdf"]}
NEWER = PDF | {"version": "0.2", "tools": ["pdf_info", "pdf_page"]}
ECHO = NOTHING | {"package": None, "version": None, "providers": ["echo"], "skills": ["shout"]}


def test_nothing_changed():
    assert list(describe_changes({"pdf": PDF, "echo": ECHO}, {"echo": ECHO, "pdf": PDF | {"seconds": 2}})) == []


def test_a_plugin_comes_and_goes():
    both = {"pdf": PDF, "echo": ECHO}
    came = list(describe_changes({}, both))
    assert came == [
        "+ plugin echo (unknown package)",
        "  + providers: echo",
        "  + skills: shout",
        "+ plugin pdf (oneclaw-pdf 0.1)",
        "  + groups: pdf",
        "  + tools: pdf_info, pdf_text",
    ]
    assert list(describe_changes(both, {})) == [line.replace("+", "-") for line in came]


def test_another_version_of_a_plugin():
    assert list(describe_changes({"pdf": PDF}, {"pdf": NEWER})) == [
        "  plugin pdf: oneclaw-pdf 0.1 -> oneclaw-pdf 0.2",
        "  - tools: pdf_text",
        "  + tools: pdf_page",
    ]


def test_problems_of_some_packages_only():
    problem = {"cause": "no key", "remedy": "set one", "is_error": True}
    plugins = {"pdf": PDF | {"problems": [problem, problem | {"is_error": False}]}, "echo": ECHO}
    assert list(find_problems(plugins, {"oneclaw-pdf"})) == ["plugin pdf does not work: no key; what to do: set one"]
    assert list(find_problems(plugins, {"other"})) == []
    assert list(find_problems(None, {"oneclaw-pdf"})) == []


def test_the_plugins_of_a_new_process(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "home"))
    builtin = load_in_new_process()["builtin"]
    assert builtin["package"] == "oneclaw-core"
    assert "load_tool_group" in builtin["tools"]


@pytest.mark.parametrize("program", ["exit 3", "echo nonsense", "echo '[{}]'"])
def test_plugins_that_cannot_be_loaded(tmp_path, monkeypatch, program):
    interpreter = tmp_path / "python"
    interpreter.write_text(f"#!/bin/sh\n{program}\n")
    interpreter.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(interpreter))
    assert load_in_new_process() is None
    assert list(describe_changes({}, None)) == ["the plugins cannot all be loaded: see oneclaw plugins list"]
