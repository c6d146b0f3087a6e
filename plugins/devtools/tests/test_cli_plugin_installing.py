"""`oneclaw plugins install` and its like at the terminal, and what they refuse."""

import os
import sys

import pytest
from pseudo_terminal import PseudoTerminal

PIP = """
import json, sys
with open({written!r}, "a") as file:
    file.write(" ".join(sys.argv[1:]) + chr(10))
if "--target" in sys.argv:
    sys.exit(0)
if "--dry-run" not in sys.argv:
    sys.exit("no: \x1b[2J")
origin = {{"url": "https://example.com/acme\x1b[2J.whl", "archive_info": {{"hash": "sha256=abcd"}}}}
metadata = {{"name": "acme-tools", "version": "1.0"}}
with open("report.json", "w") as file:
    json.dump({{"install": [{{"metadata": metadata, "download_info": origin, "is_direct": False}}]}}, file)
"""


@pytest.fixture
def calls(tmp_path, home, monkeypatch):
    """A pip that plans, writes down what it is called with, and cannot install; the file it writes to."""
    written = tmp_path / "calls"
    package = tmp_path / "shadow" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(PIP.format(written=str(written)))
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    return written


def program(*arguments):
    return PseudoTerminal("plugins", *arguments, environ=os.environ)


@pytest.mark.long
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python may forbid installing")
def test_somebody_at_a_terminal_is_shown_the_plan_and_asked(calls):
    with program("install", "acme-tools") as terminal:
        terminal.expect("acme-tools 1.0 from https://example.com/acme\\x1b[2J.whl")
        terminal.expect("sha256 abcd")
        terminal.expect(f"Install acme-tools in {sys.prefix} (a virtual environment with pip)? [y/N]: ")
        terminal.type("\n")  # the default changes nothing
        terminal.expect("oneclaw: nothing was changed")
        assert terminal.exit_status() == 1
    planned, unpacked = calls.read_text().splitlines()
    assert "--dry-run --report=report.json --only-binary :all: -- " in planned
    assert "--target" in unpacked


@pytest.mark.long
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="this Python may forbid installing")
def test_what_the_installer_prints_is_harmless(calls):
    with program("install", "--yes", "acme-tools") as terminal:
        terminal.expect("no: \\x1b[2J")
        terminal.expect("oneclaw: pip failed (exit status 1); what it printed above says why")
        assert terminal.exit_status() == 1
    planned, unpacked, installed = calls.read_text().splitlines()
    assert planned.endswith(" acme-tools")
    assert unpacked.startswith("install --no-input --quiet --target ")
    assert "--only-binary :all:" in unpacked
    assert installed.endswith(" --require-hashes --no-deps -r requirements.txt")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["upgrade"], "name the packages to upgrade, or give --all"),
        (["upgrade", "--all", "acme"], "name the packages to upgrade, or give --all"),
        (["install"], "Missing argument"),
        (["install", "--index-url=http://127.0.0.1:1", "acme"], "No such option"),
        (["install", "--", "--index-url=http://127.0.0.1:1"], "is an option, not a package"),
        (["install", "pytest>=1"], "pytest is installed, but is not a plugin"),
        (["install", "acme_tools", "Acme.Tools>=1"], "acme-tools is named twice"),
        (["upgrade", "oneclaw-core"], "oneclaw-core is OneClaw itself"),
        (["upgrade", "nothing-of-that-name"], "nothing-of-that-name is not installed"),
        (["uninstall", "OneClaw_Core"], "oneclaw-core is OneClaw itself"),
        (["uninstall", "pytest"], "pytest is installed, but is not a plugin"),
        (["uninstall", "nothing-of-that-name"], "nothing-of-that-name is not installed"),
        (["uninstall", "acme-tools>1"], "is not a package's name"),
    ],
)
def test_what_is_refused(calls, oneclaw, monkeypatch, arguments, said):
    monkeypatch.syspath_prepend(calls.parent / "shadow")
    outcome = oneclaw("plugins", *arguments)
    assert (outcome.status, outcome.stdout) == (2, "")
    assert said in outcome.stderr
    assert not calls.exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"format": 1, "plugins": [{"name": 3}]}', '{"format": 2}'])
def test_a_damaged_record_is_left_alone(calls, oneclaw, home, monkeypatch, content):
    monkeypatch.syspath_prepend(calls.parent / "shadow")
    home.mkdir(mode=0o700)
    path = home / "plugins.json"
    path.touch(mode=0o600)
    path.write_text(content)
    for arguments in (["sync"], ["install", "acme-tools"]):
        outcome = oneclaw("plugins", *arguments)
        assert outcome.status == 1
        assert "is damaged" in outcome.stderr or "newer OneClaw" in outcome.stderr
    assert path.read_text() == content
    assert not calls.exists()


def test_nothing_to_do(calls, ok, monkeypatch):
    monkeypatch.syspath_prepend(calls.parent / "shadow")
    assert ok("plugins", "sync") == "nothing is missing\n"
    assert ok("plugins", "upgrade", "--all") == "nothing was installed by 'oneclaw plugins install'\n"
