"""Completion in the shell: installed once, removed without a trace, and quick."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_installing_adds_one_line_and_removing_takes_it_away(ok, users_folder, shell):
    startup = users_folder / f".{shell}rc"
    startup.write_text("alias x=y\n")
    startup.chmod(0o600)

    shown = ok("completion", "install", shell, "--yes")
    ok("completion", "install", shell, "--yes")

    lines = startup.read_text().splitlines()
    assert lines[0] == "alias x=y"
    assert len(lines) == 2
    assert lines[1] in shown
    assert startup.stat().st_mode & 0o777 == 0o600
    script = users_folder / ".local" / "share" / "oneclaw-completion" / f"oneclaw.{shell}"
    assert "_ONECLAW_COMPLETE" in script.read_text()
    assert "removed" in ok("completion", "remove", shell)
    assert startup.read_text() == "alias x=y\n"
    assert not script.exists()


def test_fish_needs_a_file_alone(ok, users_folder, oneclaw):
    ok("completion", "install", "fish", "--yes")

    assert (users_folder / ".config" / "fish" / "completions" / "oneclaw.fish").exists()
    assert "not installed" in ok("completion", "remove", "bash")
    assert "there is no terminal" in oneclaw("completion", "install", "bash").stderr


@pytest.mark.long
@pytest.mark.one_python  # needs other plugins
def test_names_are_completed_without_importing_a_plugin(home):
    program = "import sys; from oneclaw_core.cli.main import main\ntry: main([])\nfinally: print(*sorted(sys.modules))"
    environ = {**os.environ, "_ONECLAW_COMPLETE": "bash_complete", "COMP_WORDS": "oneclaw s", "COMP_CWORD": "1"}

    done = subprocess.run([sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True)

    *completed, modules = done.stdout.splitlines()
    assert {"plain,serve", "plain,sessions", "plain,setup", "plain,skills"} <= set(completed)
    assert not {"oneclaw_setup", "oneclaw_search", "oneclaw_openai", "pydantic", "httpx"} & set(modules.split())


@pytest.mark.needs("bash")
def test_bash_reads_the_script(ok, users_folder):
    ok("completion", "install", "bash", "--yes")

    asked = subprocess.run(
        ["bash", "-c", f". {users_folder}/.bashrc && complete -p oneclaw"], capture_output=True, text=True, check=True
    )

    assert "-F _oneclaw_completion" in asked.stdout
