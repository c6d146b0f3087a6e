"""Which environment is which, and what installs into it."""

import sys
from pathlib import Path

import pytest

from oneclaw_core import OneClawError
from oneclaw_core.installing.environment import (
    PIPX_METADATA,
    UV_RECEIPT,
    EnvironmentKind,
    InterpreterFacts,
    detect_environment,
    gather_facts,
)

PYTHON, UV, PIPX = Path("/env/bin/python"), Path("/usr/bin/uv"), Path("/usr/bin/pipx")
MARKER = Path("/usr/lib/python3.13/EXTERNALLY-MANAGED")


def facts(**known):
    return InterpreterFacts(PYTHON, Path("/env"), **({"is_virtual": True, "has_pip": False} | known))


@pytest.mark.parametrize(
    ("known", "kind", "installer"),
    [
        ({"has_pip": True}, EnvironmentKind.PIP, PYTHON),
        ({"has_pip": True, "uv": UV}, EnvironmentKind.PIP, PYTHON),
        ({"uv": UV}, EnvironmentKind.UV, UV),
        ({"files": {PIPX_METADATA}, "pipx": PIPX, "has_pip": True}, EnvironmentKind.PIPX, PIPX),
        ({"files": {PIPX_METADATA}, "pipx": PIPX, "uv": UV}, EnvironmentKind.PIPX, PIPX),
        ({"files": {UV_RECEIPT}, "uv": UV}, EnvironmentKind.UV_TOOL, UV),
        ({"files": {"conda-meta"}, "is_virtual": False, "has_pip": True}, EnvironmentKind.CONDA, PYTHON),
        ({"is_virtual": False, "has_pip": True}, EnvironmentKind.SYSTEM, PYTHON),
        ({"is_virtual": False, "has_pip": True, "is_core_in_user_site": True}, EnvironmentKind.USER_SITE, PYTHON),
        # A virtual environment of a system's Python is nobody's but the user's.
        ({"externally_managed": MARKER, "has_pip": True}, EnvironmentKind.PIP, PYTHON),
    ],
)
def test_who_installs(known, kind, installer):
    environment = detect_environment(facts(**known))
    assert (environment.kind, environment.installer, environment.note) == (kind, installer, "")
    assert (environment.python, environment.prefix) == (PYTHON, Path("/env"))


@pytest.mark.parametrize(
    ("known", "kind"), [({"has_pip": True}, EnvironmentKind.PIP), ({"uv": UV}, EnvironmentKind.UV)]
)
def test_an_environment_of_pipx_without_pipx(known, kind):
    environment = detect_environment(facts(files={PIPX_METADATA}, **known))
    assert environment.kind is kind
    assert "oneclaw plugins sync" in environment.note


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({}, "neither pip nor uv is there .* '/env/bin/python -m ensurepip', or install uv"),
        ({"files": {UV_RECEIPT}, "has_pip": True}, "installed by uv tool, and uv cannot be found"),
        ({"is_virtual": False, "has_pip": True, "externally_managed": MARKER}, "EXTERNALLY-MANAGED.*uv tool install"),
        ({"is_virtual": False, "uv": UV, "externally_managed": MARKER}, "pipx install oneclaw-core"),
        (
            {"is_virtual": False, "has_pip": True, "externally_managed": MARKER, "is_core_in_user_site": True},
            "belongs to the operating system",
        ),
        (
            {"is_virtual": False, "has_pip": True, "externally_managed": MARKER, "files": {"conda-meta"}},
            "belongs to the operating system",
        ),
    ],
)
def test_what_to_do_where_nothing_can_be_installed(known, said):
    with pytest.raises(OneClawError, match=said):
        detect_environment(facts(**known))


def program(folder, name):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_interpreter_that_runs():
    found = gather_facts({"PATH": ""})
    assert found.executable == Path(sys.executable)
    assert found.is_virtual == (sys.prefix != sys.base_prefix)


def test_programs_are_found_on_absolute_folders_of_the_path_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    program(tmp_path / "here", "pipx")
    there = program(tmp_path / "there", "pipx")
    assert gather_facts({"PATH": f"here:.:{tmp_path / 'there'}"}).pipx == there


def test_uv_names_itself_to_what_it_runs(tmp_path):
    named, on_path = program(tmp_path / "a", "uv"), program(tmp_path / "b", "uv")
    path = str(tmp_path / "b")
    assert gather_facts({"PATH": path, "UV": str(named)}).uv == named
    assert gather_facts({"PATH": path, "UV": str(tmp_path / "gone")}).uv == on_path
    assert gather_facts({"PATH": path, "UV": "uv"}).uv == on_path


def test_files_that_say_who_made_it(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    (tmp_path / "conda-meta").mkdir()
    (tmp_path / UV_RECEIPT).touch()
    assert gather_facts({"PATH": ""}).files == {"conda-meta", UV_RECEIPT}
