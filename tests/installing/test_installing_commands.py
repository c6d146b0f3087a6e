"""The programs that are run in each kind of environment, and what is read of pipx and uv tool for them."""

import json
from pathlib import Path

import pytest

from oneclaw_core import __version__
from oneclaw_core.installing.commands import install_command, uninstall_command
from oneclaw_core.installing.environment import PIPX_METADATA, UV_RECEIPT, Environment, EnvironmentKind
from oneclaw_core.installing.requirement import PluginRequirement
from oneclaw_core.installing.uv_receipt import ForeignReceiptError, parse_receipt, read_receipt

CORE = f"oneclaw-core=={__version__}"
PDF = PluginRequirement("oneclaw-pdf>=0.1", "oneclaw-pdf")
PROJECT = PluginRequirement("/src/acme", "acme", "file:///src/acme")

RECEIPT = """
[tool]
requirements = [
    { name = "oneclaw-core", extras = ["browser", "keyring"], specifier = "<9" },
    { name = "ruff" },
    { name = "oneclaw-pdf", specifier = ">=0.1" },
    { name = "acme-a", path = "/wheels/acme_a-1-py3-none-any.whl" },
    { name = "acme-b", directory = "/src/acme_b" },
    { name = "acme-c", editable = "/src/acme_c" },
    { name = "acme-d", git = "https://example.com/acme?subdirectory=d&rev=v1" },
    { name = "acme-e", url = "https://example.com/acme_e-1.zip" },
    { name = "acme-f", marker = "python_version > '3'" },
]
python = "3.12"
entrypoints = [
    { name = "oneclaw", install-path = "/home/me/bin/oneclaw", from = "oneclaw-core" },
    { name = "ruff", install-path = "/home/me/bin/ruff", from = "ruff" },
]

[tool.options]
index = [
    { url = "https://a.example/simple", explicit = false, default = true, format = "simple", authenticate = "auto" },
    { name = "b", url = "https://b.example/simple", explicit = false, default = false },
]
find-links = ["file:///wheels"]
prerelease = "allow"
no-index = false
"""
REPEATED = [
    "--default-index=https://a.example/simple", "--index=b=https://b.example/simple", "--find-links=file:///wheels",
    "--prerelease=allow", "--python", "3.12",
    "--with-executables-from", "ruff",
    "--with", "oneclaw-pdf>=0.1",
    "--with", "/wheels/acme_a-1-py3-none-any.whl",
    "--with", "/src/acme_b",
    "--with-editable", "/src/acme_c",
    "--with", "acme-d @ git+https://example.com/acme@v1#subdirectory=d",
    "--with", "acme-e @ https://example.com/acme_e-1.zip",
    "--with", "acme-f ; python_version > '3'",
]  # fmt: skip


def environment(kind, prefix="/env", installer="/bin/installer"):
    return Environment(kind, Path(prefix, "bin/python"), Path(prefix), Path(installer))


@pytest.fixture
def uv_tool(tmp_path):
    prefix = tmp_path / "tools" / "oneclaw-core"
    prefix.mkdir(parents=True)
    (prefix / UV_RECEIPT).write_text(RECEIPT)
    return environment(EnvironmentKind.UV_TOOL, prefix, "/bin/uv")


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (EnvironmentKind.PIP, []),
        (EnvironmentKind.CONDA, []),
        (EnvironmentKind.SYSTEM, []),
        (EnvironmentKind.USER_SITE, ["--user"]),
    ],
)
def test_pip_is_run_by_the_interpreter_and_never_from_the_current_directory(kind, options):
    pip = ["/env/bin/python", "-P", "-m", "pip"]
    found = install_command(environment(kind), [PDF, PROJECT]).arguments
    assert list(found) == [*pip, "install", "--no-input", *options, "--", CORE, "oneclaw-pdf>=0.1", "/src/acme"]
    found = install_command(environment(kind), [PDF], upgrade=True).arguments
    assert list(found) == [*pip, "install", "--no-input", "--upgrade", *options, "--", CORE, "oneclaw-pdf>=0.1"]
    found = uninstall_command(environment(kind), ["acme", "oneclaw-pdf"]).arguments
    assert list(found) == [*pip, "uninstall", "--yes", "--no-input", "--", "acme", "oneclaw-pdf"]


def test_uv_is_told_the_interpreter():
    uv = environment(EnvironmentKind.UV, installer="/bin/uv")
    pip = ["/bin/uv", "pip", "install", "--python", "/env/bin/python"]
    assert list(install_command(uv, [PDF]).arguments) == [*pip, "--", CORE, "oneclaw-pdf>=0.1"]
    assert list(install_command(uv, [PDF, PROJECT], upgrade=True).arguments) == [
        *pip, "--upgrade-package", "oneclaw-pdf", "--upgrade-package", "acme", "--reinstall-package", "acme",
        "--", CORE, "oneclaw-pdf>=0.1", "/src/acme",
    ]  # fmt: skip
    assert uninstall_command(uv, ["acme"]).arguments[1:] == (
        "pip", "uninstall", "--python", "/env/bin/python", "--", "acme"
    )  # fmt: skip


def test_uv_tool_is_told_everything_again(uv_tool):
    new = PluginRequirement("acme-new", "acme-new")
    command = install_command(uv_tool, [new])
    core = "oneclaw-core[browser,keyring]<9"
    assert list(command.arguments) == ["/bin/uv", "tool", "install", *REPEATED, "--with", "acme-new", core]
    assert command.environ == {"UV_TOOL_DIR": str(uv_tool.prefix.parent), "UV_TOOL_BIN_DIR": "/home/me/bin"}
    command = install_command(uv_tool, [PDF], upgrade=True)
    rest = [each for each in REPEATED if each != "oneclaw-pdf>=0.1"]
    rest.remove("--with")
    assert sorted(command.arguments[3:-5]) == sorted(rest)
    assert list(command.arguments[-5:]) == [
        "--with", "oneclaw-pdf>=0.1", "--upgrade-package", "oneclaw-pdf", core
    ]  # fmt: skip


def test_uv_tool_forgets_what_it_is_not_told(uv_tool):
    arguments = uninstall_command(uv_tool, ["oneclaw-pdf", "acme-c"]).arguments
    assert arguments[:3] == ("/bin/uv", "tool", "install")
    assert "/src/acme_b" in arguments
    assert not {"oneclaw-pdf>=0.1", "/src/acme_c"} & set(arguments)
    # Something that uv tool does not know of, such as what pip has installed there.
    assert uninstall_command(uv_tool, ["unknown"]).arguments[1:3] == ("pip", "uninstall")


@pytest.mark.parametrize(
    "content",
    [
        "", "[tool]", "not toml", '[tool]\nrequirements = []', '[tool]\nrequirements = ["oneclaw-core"]',
        '[tool]\nrequirements = [{ name = "oneclaw-core", conflict = "x" }]',
        '[tool]\nrequirements = [{ name = "oneclaw-core", path = "/x", marker = "os_name == \'nt\'" }]',
        '[tool]\nrequirements = [{ name = "oneclaw-core", git = "https://example.com?lfs=true" }]',
        '[tool]\nrequirements = [{ name = "oneclaw-core" }]\nconstraints = [{ name = "rich" }]',
        '[tool]\nrequirements = [{ name = "oneclaw-core" }]\n[tool.options]\nno-binary-package = ["x"]',
        '[tool]\nrequirements = [{ name = "oneclaw-core" }]\n[tool.options]\nindex = [{ url = "x", explicit = true }]',
        '[tool]\nrequirements = [{ name = "oneclaw-core" }]\n[tool.options]\nfind-links = "x"',
    ],
)  # fmt: skip
def test_a_receipt_that_cannot_be_repeated_is_left_alone(content, uv_tool):
    with pytest.raises(ForeignReceiptError):
        parse_receipt(content)
    (uv_tool.prefix / UV_RECEIPT).write_text(content)
    command = install_command(uv_tool, [PDF])
    assert command.arguments[1:3] == ("pip", "install")
    assert "oneclaw plugins sync" in command.note
    assert uninstall_command(uv_tool, ["oneclaw-pdf"]).arguments[1:3] == ("pip", "uninstall")


def test_a_receipt_that_is_not_there(tmp_path):
    with pytest.raises(ForeignReceiptError, match="cannot be read"):
        read_receipt(tmp_path / UV_RECEIPT)


@pytest.fixture
def pipx(tmp_path):
    prefix = tmp_path / "pipx" / "venvs" / "oneclaw-core"
    prefix.mkdir(parents=True)
    noted = {
        "main_package": {"package": "oneclaw-core", "pip_args": ["--index-url", "https://example.com/a b"]},
        "injected_packages": {"oneclaw-pdf": {}},
    }
    (prefix / PIPX_METADATA).write_text(json.dumps(noted))
    return environment(EnvironmentKind.PIPX, prefix, "/bin/pipx")


def test_pipx_injects_with_the_options_it_has_installed_with(pipx):
    options = "--pip-args=--index-url 'https://example.com/a b'"
    command = install_command(pipx, [PDF, PROJECT])
    assert list(command.arguments) == [
        "/bin/pipx", "inject", options, "oneclaw-core", "oneclaw-pdf>=0.1", "/src/acme"
    ]  # fmt: skip
    assert command.environ["PIPX_HOME"] == str(pipx.prefix.parent.parent)
    assert "--force" in install_command(pipx, [PDF], upgrade=True).arguments


def test_pipx_takes_out_what_it_has_injected(pipx):
    assert uninstall_command(pipx, ["oneclaw-pdf"]).arguments[1:] == ("uninject", "oneclaw-core", "oneclaw-pdf")
    assert uninstall_command(pipx, ["oneclaw-pdf", "acme"]).arguments[1:4] == ("runpip", "oneclaw-core", "uninstall")


def test_a_pipx_without_uninject_leaves_it_to_pip(pipx):
    noted = {"pipx_metadata_version": "0.2", "injected_packages": {"oneclaw-pdf": {}}}
    (pipx.prefix / PIPX_METADATA).write_text(json.dumps(noted))
    command = uninstall_command(pipx, ["oneclaw-pdf"])
    assert command.arguments[1:] == ("runpip", "oneclaw-core", "uninstall", "--yes", "oneclaw-pdf")
    assert "oneclaw-pdf; 'pipx reinstall' will bring it back" in command.note


@pytest.mark.parametrize("content", ["", "[]", '{"main_package": []}', '{"main_package": {"pip_args": [1]}}'])
def test_what_pipx_has_noted_otherwise_is_passed_over(pipx, content):
    (pipx.prefix / PIPX_METADATA).write_text(content)
    assert install_command(pipx, [PDF]).arguments == ("/bin/pipx", "inject", "oneclaw-core", "oneclaw-pdf>=0.1")
    assert uninstall_command(pipx, ["oneclaw-pdf"]).arguments[1] == "runpip"
