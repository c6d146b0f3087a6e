"""The environment to install into, and what pip and uv say about packages; test_plugin_installing runs them."""

import importlib.util
import site
import sys
import sysconfig
from pathlib import Path

import oneclaw_devtools
import pytest
from oneclaw_devtools.installing.package_manager import (
    Environment,
    PackageManager,
    ResolvedPackage,
    find_environment,
    installer_environ,
    read_lock_entry,
    read_report_entry,
)
from oneclaw_devtools.installing.requirement import parse_requirement
from packaging.tags import sys_tags

from oneclaw_core import OneClawError

SHA = "ab" * 32


def entry(origin, is_direct=True):
    return {"metadata": {"name": "Acme.Tools", "version": "1.0"}, "download_info": origin, "is_direct": is_direct}


def test_pip_reports_a_file_of_an_index():
    url = "https://example.com/acme_tools-1.0-py3-none-any.whl"
    # pip 22 has no "hashes".
    for archive in ({"hashes": {"sha256": SHA}}, {"hash": f"sha256={SHA}"}):
        found = read_report_entry(entry({"url": url, "archive_info": archive}, is_direct=False), [])
        assert found == ResolvedPackage("acme-tools", "1.0", url, SHA, "Acme.Tools==1.0")


def test_pip_reports_a_repository():
    origin = {
        "url": "https://example.com/acme",
        "vcs_info": {"vcs": "git", "commit_id": "c0ffee"},
        "subdirectory": "tools",
    }
    wanted = [parse_requirement("acme-tools @ git+https://example.com/acme@main#subdirectory=tools")]
    url = "git+https://example.com/acme@c0ffee#subdirectory=tools"
    assert read_report_entry(entry(origin), wanted) == ResolvedPackage(
        "acme-tools", "1.0", url, "", f"Acme.Tools @ {url}"
    )


def test_a_password_is_used_and_not_shown():
    url = "https://example.com/acme.whl"
    wanted = [parse_requirement("acme-tools @ https://somebody:a-password@example.com/acme.whl")]
    found = read_report_entry(entry({"url": url, "archive_info": {"hash": f"sha256={SHA}"}}), wanted)
    assert (found.url, found.pin) == (url, wanted[0].text)


def test_the_best_wheel_of_a_lock_is_chosen_else_the_sdist():
    best = next(iter(sys_tags()))
    files = [
        {"url": f"https://example.com/acme-1-{tag}.whl?token=x", "hashes": {"sha256": tag}}
        for tag in ("py3-none-any", f"{best.interpreter}-{best.abi}-{best.platform}", "cp36-cp36m-win32")
    ]
    sdist = {"url": "https://example.com/acme-1.tar.gz", "hashes": {"sha256": "source"}}
    package = {"name": "acme", "version": "1", "wheels": files, "sdist": sdist}
    found = read_lock_entry(package, "acme==1", None)
    assert (found.url, found.sha256) == (files[1]["url"], files[1]["hashes"]["sha256"])
    assert read_lock_entry(package | {"wheels": files[2:]}, "acme==1", None).sha256 == "source"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """An interpreter with a virtual environment of its own, without pip."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "base_prefix", "/usr")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("UV", raising=False)
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
    return str(path)


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
    make_uv(prefix / "bin")
    assert find_environment() == Environment(description, remover=remover, python=sys.executable)


def test_uv_installs_where_pip_is_not(prefix):
    uv = make_uv(prefix / "bin")
    found = find_environment()
    assert (found.description, found.uv) == ("a virtual environment without pip, through uv", uv)


def test_the_user_s_own_packages(no_virtual_environment, with_pip, monkeypatch):
    assert find_environment().description == "a Python outside a virtual environment"
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(Path(oneclaw_devtools.__file__).parents[1]))
    found = find_environment()
    assert (found.description, found.is_user_site) == ("the user's own packages", True)


def test_a_python_of_the_operating_system_is_left_alone(no_virtual_environment, with_pip, tmp_path):
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    with pytest.raises(OneClawError, match=r"EXTERNALLY-MANAGED.*uv tool install"):
        find_environment()


def test_a_virtual_environment_of_such_a_python(prefix, with_pip, tmp_path):
    (tmp_path / "EXTERNALLY-MANAGED").touch()
    assert find_environment().description == "a virtual environment with pip"


def test_nothing_that_could_install(prefix):
    with pytest.raises(OneClawError, match=r"neither pip nor uv is there .* -m ensurepip', or install uv"):
        find_environment()


def test_uv_is_searched_in_absolute_folders_of_the_path_only(prefix, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make_uv(tmp_path / "here")
    there = make_uv(tmp_path / "there")
    monkeypatch.setenv("PATH", f"here:.:{tmp_path / 'there'}")
    assert find_environment().uv == there


def test_uv_names_itself_to_what_it_runs(prefix, tmp_path, monkeypatch):
    named, on_path = make_uv(tmp_path / "a"), make_uv(tmp_path / "b")
    monkeypatch.setenv("PATH", str(tmp_path / "b"))
    for variable, found in ((named, named), (str(tmp_path / "gone"), on_path), ("uv", on_path)):
        monkeypatch.setenv("UV", variable)
        assert find_environment().uv == found


def test_a_program_that_cannot_be_started(tmp_path):
    with pytest.raises(OneClawError, match="cannot be started"):
        PackageManager(Environment("none", python=str(tmp_path / "nothing")), print).uninstall(["acme"])


def test_what_a_program_prints_is_shown_by_line_and_it_cannot_read(tmp_path):
    uv, shown = make_uv(tmp_path), []
    Path(uv).write_text("#!/bin/sh\npwd; ls; cat; echo err >&2; printf 'x\\377'; exit 3\n")
    with pytest.raises(OneClawError, match=r"uv failed \(exit status 3\)"):
        PackageManager(Environment("test", uv), shown.append).uninstall(["acme"])
    assert not shown[0].startswith(str(Path.cwd()))
    assert shown[1:] == ["uv.toml", "err", "x\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("line", ["acme version 1.0", "acme", "==1.0", "acme (was 0.9)"])
def test_an_unexpected_line_of_a_plan_is_an_error(tmp_path, line):
    uv = make_uv(tmp_path)
    Path(uv).write_text(f"#!/bin/sh\necho ' + {line}'\n")
    with pytest.raises(OneClawError, match=r"uv plans a package that OneClaw cannot read: .*; nothing is installed"):
        PackageManager(Environment("test", uv), print).resolve([parse_requirement("acme")])


def test_build_scripts_get_passwords_of_indexes_and_no_keys():
    environ = {
        "OPENAI_API_KEY": "sk-0123456789abcdef",
        "ONECLAW_HOME": "/home/me/.oneclaw",
        "UV_INDEX_WORK_PASSWORD": "the-password-of-the-index",
        "PIP_INDEX_URL": "https://somebody:token@example.com/simple",
        "PATH": "/bin",
    }
    made = installer_environ(environ)
    assert {name: made.get(name) for name in environ} == environ | {"OPENAI_API_KEY": None, "ONECLAW_HOME": None}
    assert made["GIT_TERMINAL_PROMPT"] == "0"
