"""Which environment is which, and what installs into it."""

import importlib.util
import site
import sys
import sysconfig
from pathlib import Path

import oneclaw_devtools
import pytest
from oneclaw_devtools.installing.environment import find_environment

from oneclaw_core import OneClawError


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """An interpreter with a virtual environment of its own, without pip."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path / "site"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "env").mkdir()
    return tmp_path / "env"


@pytest.fixture
def with_pip(prefix, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


@pytest.fixture
def no_virtual_environment(prefix, monkeypatch):
    monkeypatch.setattr(sys, "base_prefix", str(prefix))


def make_uv(folder):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "uv"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("file", "description", "remover"),
    [
        ("other", "a virtual environment with pip", ""),
        ("pipx_metadata.json", "an environment of pipx", "pipx reinstall"),
        ("uv-receipt.toml", "an environment of uv tool", "uv tool upgrade"),
        ("conda-meta", "a conda environment", ""),
    ],
)
def test_pip_installs_where_it_is(prefix, with_pip, file, description, remover):
    (prefix / file).touch()
    found = find_environment({"PATH": str(make_uv(prefix / "bin").parent)})
    assert (found.description, found.remover) == (description, remover)
    assert (found.python, found.prefix, found.uv) == (Path(sys.executable), prefix, None)


def test_uv_installs_where_pip_is_not(prefix):
    uv = make_uv(prefix / "bin")
    found = find_environment({"PATH": ""})
    assert (found.description, found.uv) == ("a virtual environment without pip, through uv", uv)


def test_the_user_s_own_packages(no_virtual_environment, with_pip, monkeypatch):
    assert find_environment({}).description == "a Python without an environment of its own"
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(Path(oneclaw_devtools.__file__).parents[1]))
    found = find_environment({})
    assert (found.description, found.is_user_site) == ("the user's own packages", True)


def test_a_python_of_the_operating_system_is_left_alone(no_virtual_environment, with_pip, tmp_path):
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    with pytest.raises(OneClawError, match=r"EXTERNALLY-MANAGED.*uv tool install"):
        find_environment({})


def test_a_virtual_environment_of_such_a_python(prefix, with_pip, tmp_path):
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert find_environment({}).description == "a virtual environment with pip"


def test_nothing_that_could_install(prefix):
    with pytest.raises(OneClawError, match=r"neither pip nor uv is there .* -m ensurepip', or install uv"):
        find_environment({"PATH": ""})


def test_uv_is_searched_in_absolute_folders_of_the_path_only(prefix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_uv(tmp_path / "here")
    there = make_uv(tmp_path / "there")
    assert find_environment({"PATH": f"here:.:{tmp_path / 'there'}"}).uv == there


def test_uv_names_itself_to_what_it_runs(prefix, tmp_path):
    named, on_path = make_uv(tmp_path / "a"), make_uv(tmp_path / "b")
    path = str(tmp_path / "b")
    assert find_environment({"PATH": path, "UV": str(named)}).uv == named
    assert find_environment({"PATH": path, "UV": str(tmp_path / "gone")}).uv == on_path
    assert find_environment({"PATH": path, "UV": "uv"}).uv == on_path
