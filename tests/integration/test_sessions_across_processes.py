"""FEAT-044: groups stay loaded for the session, in whatever process, and for that session only."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from how_long import some
from model_server import ModelServer, calls, chunk, hang_up_after, silence, sse, status, text
from wire_formats import CORE, OTHERS

from oneclaw_core.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
PDF = ["pdf_info", "pdf_extract_text", "pdf_render_page"]
KEY = "sk-canary-7f3a9b2c5d"
PROGRAM = "import sys; from oneclaw_core.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Finished:
    """What one run of the program came to."""

    returncode: int
    stdout: str
    stderr: str


def environment(home, server_url, **environ):
    return {
        "ONECLAW_HOME": str(home),
        "OPENAI_BASE_URL": server_url,
        "OPENAI_API_KEY": KEY,
        "ONECLAW_DISABLED_PLUGINS": OTHERS,
        **environ,
    }


def message(text, *options):
    return ("run", "--model", "openai_compatible/test", *options, text)


def in_process(home, server_url, *arguments):
    """Run the program in a separate process."""
    done = subprocess.run(
        [sys.executable, "-m", "oneclaw_core", *arguments],
        env=os.environ | environment(home, server_url),
        cwd=EXAMPLES,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def oneclaw(tmp_path, monkeypatch, capfd):
    """Run the program in this process, with everything opened anew: it takes a tenth of the time."""

    def run(server_url, *arguments, **environ):
        capfd.readouterr()
        with monkeypatch.context() as patch, Path(os.devnull).open() as nothing:
            for name, value in environment(tmp_path, server_url, **environ).items():
                patch.setenv(name, value)
            patch.chdir(EXAMPLES)
            patch.setattr("sys.stdin", nothing)
            status = main(list(arguments))
        return Finished(status, *capfd.readouterr())

    return run


def events(finished):
    return [json.loads(line) for line in finished.stdout.splitlines()]


def tool_names(body):
    return [tool["function"]["name"] for tool in body["tools"]]


def load(group):
    return calls(("load_tool_group", {"group_name": group}))


@pytest.mark.long
def test_040_01_to_13_and_044_a_session_over_three_processes(oneclaw, tmp_path):
    script = [
        load("pdf"),
        calls(("pdf_info", {"path": "quarterly-report.pdf"})),
        text("Six pages."),
        calls(("pdf_info", {"path": "quarterly-report.pdf"})),
        text("Still six."),
        text("A new one."),
    ]
    with ModelServer(script) as server:
        first = in_process(tmp_path, server.url, *message("How many pages?", "--session", "reports", "--json"))
        second = in_process(tmp_path, server.url, *message("And now?", "--session", "reports", "--json"))
        third = oneclaw(server.url, *message("Hello", "--json"))
    for finished in (first, second, third):
        assert finished.returncode == 0, finished.stderr
    assert [tool_names(body) for body in server.bodies] == [CORE, CORE + PDF, CORE + PDF, CORE + PDF, CORE + PDF, CORE]
    system = server.bodies[0]["messages"][0]
    assert system["role"] == "system"
    assert "\n\n---\n\n## Available Tool Groups\n" in system["content"]
    assert "\n- pdf: Extract text, get info, and render pages from PDF files" in system["content"]
    kinds = [event["event"] for event in events(first)]
    assert [kind for kind in kinds if kind != "text"] == [
        "usage",
        "tool_call",
        "tool_result",
        "group_loaded",
        "usage",
        "tool_call",
        "tool_result",
        "usage",
        "turn_finished",
    ]
    (info,) = [event for event in events(second) if event["event"] == "tool_result"]
    assert info["status"] == "success"
    assert "Pages: 6" in info["result"]
    assert events(second)[-1] == {"event": "turn_finished", "session": "reports", "text": "Still six."}
    earlier = server.bodies[2]["messages"]
    assert server.bodies[3]["messages"][: len(earlier)] == earlier


@pytest.mark.long
@pytest.mark.one_python
def test_a_failed_load_leaves_no_trace_in_the_next_run(oneclaw):
    script = [load("nonexistent"), text("No such group."), text("Hi.")]
    with ModelServer(script) as server:
        first = oneclaw(server.url, *message("load it", "--session", "s", "--json"))
        oneclaw(server.url, *message("hello", "--session", "s"))
    (result,) = [event for event in events(first) if event["event"] == "tool_result"]
    assert result["error_type"] == "not_found"
    assert result["message"].endswith("Available groups: background, pdf")
    assert tool_names(server.bodies[2]) == CORE


@pytest.mark.long
@pytest.mark.one_python
def test_a_group_whose_plugin_is_switched_off_is_gone_and_comes_back(oneclaw):
    with ModelServer([load("pdf"), text("Loaded."), text("Hi."), text("Again.")]) as server:
        oneclaw(server.url, *message("load it", "--session", "s"))
        oneclaw(server.url, *message("hello", "--session", "s"), ONECLAW_DISABLED_PLUGINS=f"pdf,{OTHERS}")
        oneclaw(server.url, *message("hello", "--session", "s"))
    assert tool_names(server.bodies[2]) == CORE
    assert tool_names(server.bodies[3]) == CORE + PDF
    # The system prompt stays, for the sake of the prompt cache; what has changed is told with the message.
    assert len({body["messages"][0]["content"] for body in server.bodies}) == 1
    _, gone, back = [each["content"] for each in server.bodies[3]["messages"] if each["role"] == "user"]
    assert "No longer in Available Tool Groups: pdf" in gone
    assert "- pdf: Extract text" in back


@pytest.mark.long
@pytest.mark.parametrize(
    ("reply", "said"),
    some(
        [
            (status(401, body={"error": {"message": f"Incorrect API key provided: {KEY}"}}), "OPENAI_API_KEY"),
            (status(429, headers={"Retry-After": "600"}), "again"),
            (status(400, body={"error": {"message": "the model is tired"}}), "the model is tired"),
            (hang_up_after(sse([chunk({"content": "Hel"})], done=False), b'data: {"choices": [{"ind'), "broke off"),
            (status(200, body=b"nothing that makes sense"), ""),
        ],
        3,
    ),
)
@pytest.mark.one_python
def test_a_service_that_misbehaves_gives_one_line_and_leaves_the_session_intact(oneclaw, tmp_path, reply, said):
    def script(body):
        return reply if body["messages"][-1]["content"] == "hello" else text("Hello again.")

    with ModelServer(script) as server:
        failed = oneclaw(server.url, *message("hello", "--session", "s"))
        assert failed.returncode == 1
        (line,) = [line for line in failed.stderr.splitlines() if line.startswith("oneclaw: ")]
        assert said in line
        assert "Traceback" not in failed.stderr
        assert KEY not in failed.stdout + failed.stderr
        good = oneclaw(server.url, *message("once more", "--session", "s"))
    assert (good.returncode, good.stdout.strip()) == (0, "Hello again.")
    for file in tmp_path.rglob("*"):
        assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


@pytest.mark.one_python
def test_a_service_that_cannot_be_reached(oneclaw):
    failed = oneclaw("http://127.0.0.1:9/v1", *message("hello"))
    assert failed.returncode == 1
    assert "127.0.0.1:9" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_a_service_that_says_nothing_is_given_up_at_the_turns_deadline(oneclaw):
    with ModelServer([silence()]) as server:
        failed = oneclaw(server.url, *message("hello"), ONECLAW_TURN_DEADLINE_SECONDS="0.5")
    assert failed.returncode == 1
    assert "turn_deadline_seconds" in failed.stderr


@pytest.mark.parametrize(
    ("arguments", "exit_status", "said"),
    some(
        [
            (["run", ""], 2, "empty"),
            (["run"], 2, "MESSAGE"),
            (["run", "--model", "nonsense", "hello"], 2, "PROVIDER/MODEL"),
            (["run", "--model", "nobody/model", "hello"], 2, "the providers are"),
            (["run", "--agent", "Nobody", "hello"], 2, "there is no agent"),
            (["call", "no_such_tool"], 1, "not_found"),
            (["call", "read_file", "{"], 1, "validation_error"),
            (["call", "pdf_info", "{}"], 1, "'path' is a required property"),
            (["call", "read_file", '{"path": "/etc/passwd"}'], 1, "permission_denied"),
            (["call", "load_tool_group", "{}"], 1, "missing_parameter"),
            (["call", "load_tool_group", '{"group_name": "nope"}'], 1, "Available groups: background, pdf"),
            (
                ["call", "http_request", '{"url": "http://127.0.0.1:9/"}'],
                1,
                "oneclaw permissions grant network.private",
            ),
            (["prompt", "--session", "nope"], 2, "there is no session"),
        ],
        6,
    ),
)
@pytest.mark.one_python
def test_bad_input_is_answered_with_what_to_do(oneclaw, arguments, exit_status, said):
    failed = oneclaw("http://127.0.0.1:9/v1", *arguments)
    assert failed.returncode == exit_status, failed.stderr
    assert said in failed.stdout + failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_a_home_that_cannot_be_used(tmp_path):
    (tmp_path / "file").write_text("not a directory")
    failed = in_process(tmp_path / "file" / "home", "http://127.0.0.1:9/v1", "run", "hello")
    assert failed.returncode == 1
    assert "ONECLAW_HOME" in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.long
@pytest.mark.one_python
def test_two_processes_send_to_one_session_and_nothing_interleaves(oneclaw, tmp_path):
    with ModelServer(lambda body: text("Answer to " + body["messages"][-1]["content"])) as server:
        oneclaw(server.url, *message("begin", "--session", "s"))
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *message(word, "--session", "s")],
                env=os.environ | environment(tmp_path, server.url),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            for word in ("one", "two")
        ]
        answers = [process.stdout.read().decode().strip() for process in processes]
        assert [process.wait(300) for process in processes] == [0, 0]
        for process in processes:
            process.stdout.close()
    assert answers == ["Answer to one", "Answer to two"]
    shown = json.loads(oneclaw(server.url, "sessions", "show", "s", "--json").stdout)
    texts = [each["content"] for each in shown["messages"]]
    assert texts[:2] == ["begin", "Answer to begin"]
    assert sorted(texts[2::2]) == ["one", "two"]
    for question, answer in zip(texts[::2], texts[1::2], strict=True):
        assert answer == f"Answer to {question}"
