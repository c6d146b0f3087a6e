"""A canary is put wherever a secret can be, everything goes wrong that can, and then it is looked for everywhere."""

import base64
import json
import os
import sys
import textwrap

import pytest
from pytest_oneclaw.web_server import WebServer, response
from system_keyrings import MemoryKeyring, system_keyring

KINDS = ("openai", "anthropic", "gemini", "acme", "safe")
# Where each service is asked; two speak the same wire format.
PATHS = {
    "openai": "/responses",
    "anthropic": "/messages",
    "gemini": "GenerateContent",
    "acme": "/chat/completions",
    "safe": "/chat/completions",
}
# What each place is for: the value itself belongs there, in these files and nowhere else.
MEANT = ("keys.json", "environment.json")

PLUGIN = """
    import os
    from oneclaw_core import hookimpl, tool
    import click

    def all_secrets():
        return " ".join(value for value in os.environ.values() if "canary" in value)

    @tool
    def fail_loudly() -> str:
        "Fail with everything there is."
        raise ValueError(f"refused: {all_secrets()}")

    @tool
    def fail_politely() -> str:
        "Fail with an error that was caught."
        from oneclaw_core import ToolResult
        return ToolResult.error("refused", f"refused: {all_secrets()}")

    @hookimpl
    def register_tools(register):
        register(fail_loudly)
        register(fail_politely)

    @hookimpl
    def register_commands(register):
        register("crash", crash)

    import click

    @click.command()
    def crash():
        "Crash."
        try:
            raise ValueError(all_secrets())
        except ValueError as error:
            raise RuntimeError("crashed with " + all_secrets()) from error
"""
WAYS = ("400 Bad", "401 No", "403 No", "404 None", "422 No", "stream", "page", "redirect", "list")
# With a database that cannot be opened; in the short form, each address is tried with some of them.
COMMANDS_WITHOUT_A_DATABASE = (
    "doctor",
    "sessions list",
    "crash",
    "run hello",
    "db copy sqlite:///x.db",
    "config list",
    "tasks list",
)
BROKEN_PLUGIN = """
    import os
    raise ImportError("no license for " + " ".join(value for value in os.environ.values() if "canary" in value))
"""


def canary(name):
    # Letters and digits only, so that no encoding of a URL or of JSON can hide it.
    return f"canary{name}{os.urandom(12).hex()}"


def traces(value):
    """A secret as itself, and as it stands in base64, wherever it begins there."""
    encoded = {base64.b64encode(b"x" * shift + value.encode())[8:-8] for shift in range(3)}
    return {value.encode(), *encoded}


class EchoingService:
    """A service that repeats all it was told, in every way that a service can fail.

    Attributes:
        way: how it fails next.
    """

    def __init__(self):
        self.way = WAYS[0]

    def answer(self, request):
        told = " ".join(value for _, value in request.headers) + request.body.decode("utf-8", "replace")[-50:]
        json_type = [("Content-Type", "application/json")]
        error = {"type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT", "message": told}
        if self.way == "stream":
            body = f"event: error\ndata: {json.dumps({'type': 'error', 'error': error})}\n\n"
            return response(body, headers=[("Content-Type", "text/event-stream")])
        if self.way == "page":
            return response(f"<html>{told}</html>", headers=[("Content-Type", "text/html")])
        if self.way == "redirect":
            return response("", status="302 Found", headers=[("Location", f"http://127.0.0.1:9/{told.split()[-1]}")])
        if self.way == "list":
            return response(json.dumps([{"error": dict.fromkeys(error, told)}]), status="400 No", headers=json_type)
        body = json.dumps({"type": "error", "error": dict.fromkeys([*error, "param"], told)})
        return response(body, status=self.way, headers=json_type)


@pytest.fixture
def install(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    made = []

    def put(name, source):
        info = site / f"{name}-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
        (info / "entry_points.txt").write_text(f"[oneclaw]\n{name} = {name}\n")
        (site / f"{name}.py").write_text(textwrap.dedent(source))
        made.append(name)

    yield put
    for name in made:
        sys.modules.pop(name, None)


@pytest.mark.one_python
def test_no_secret_is_found_where_it_does_not_belong(
    program, few_plugins, home, install, monkeypatch, tmp_path, is_long
):
    secrets = {name: canary(name) for name in (*KINDS, "keyring", "tool", "database", "proxy", "address", "token")}
    monkeypatch.chdir(tmp_path)
    install("canary_teller", PLUGIN)
    install("canary_broken", BROKEN_PLUGIN)
    for kind in ("openai", "anthropic", "gemini"):
        monkeypatch.setenv(f"{kind.upper()}_API_KEY", secrets[kind])
    monkeypatch.setenv("GITHUB_TOKEN", secrets["token"])
    runs = []

    def run(*arguments, typed="", status=None):
        runs.append(program(*arguments, typed=typed))
        if status is not None:
            assert runs[-1].status == status, runs[-1]

    echoing = EchoingService()
    with WebServer(echoing.answer) as service, system_keyring(MemoryKeyring()):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{service.url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", service.url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", service.url)
        for name in ("acme", "safe"):
            run("providers", "add", name, "--type", "openai_compatible", "--base-url", f"{service.url}/v1", status=0)
        run("keys", "set", "acme", "--file", typed=secrets["acme"] + "\n", status=0)
        run("keys", "set", "safe", typed=secrets["safe"] + "\n", status=0)
        run("env", "set", "WEATHER_TOKEN", typed=secrets["tool"] + "\n", status=0)
        for number, way in enumerate(WAYS):
            echoing.way = way
            # Each service fails in some ways, and all of them between them in all.
            for kind in KINDS if is_long else KINDS[number % 5 :: 5]:
                run("run", "--model", f"{kind}/test", "--session", f"{kind}", "Hello", status=1)
        echoing.way = WAYS[0]
        for kind in KINDS if is_long else KINDS[::2]:
            run("run", "--json", "--model", f"{kind}/test", "Hello", status=1)
            run("models", "list", kind)
            run("prompt", "--wire", "--json", "--model", f"{kind}/test", status=0)
            run("prompt", "--wire", "--model", f"{kind}/test", status=0)
        run("call", "fail_loudly", status=1)
        run("call", "fail_politely", status=1)
        run("run", "--session", "loud", "call fail_loudly")
        run("run", "--session", "loud", "call fail_politely")
        commands = ["env", "cat home/keys.json home/environment.json", "echo $GITHUB_TOKEN"]
        for command in commands:
            run("call", "--allow", "shell.execute", "exec", json.dumps({"command": command}))
        (tmp_path / ".env").write_text(f"OPENAI_API_KEY={secrets['openai']}\nGITHUB_TOKEN={secrets['token']}\n")
        allowed = f"files.read:{tmp_path / '.env'}"
        run("call", "--allow", allowed, "read_file", json.dumps({"path": ".env"}), status=0)
        run("run", "--session", "env", "read the file .env")
        for path in ("home/keys.json", "home/environment.json", "../home/keys.json", "/proc/self/environ"):
            run("call", "read_file", json.dumps({"path": path}), status=1)
        for number, command in enumerate(
            (
                "crash",
                "doctor",
                "usage",
                "tools list",
                "plugins list",
                "providers list",
                "keys list",
                "env list",
                "config list",
                "sessions list",
                "permissions list",
                "memory show",
                "agents list",
            )
        ):
            # In the short form, each in one of its two ways, and two sessions.
            if is_long or number % 2:
                run(*command.split())
            if is_long or not number % 2:
                run(*command.split(), "--json")
        for session in (*KINDS, "loud") if is_long else ("loud",):
            run("sessions", "show", session)
            run("sessions", "export", session)
            run("sessions", "export", session, "--format", "json", "--output", str(home / f"{session}.json"))
        # Secrets in addresses.
        with monkeypatch.context() as patch:
            patch.setenv("OPENAI_BASE_URL", f"http://user:{secrets['address']}@127.0.0.1:9/v1")
            run("run", "--model", "openai/test", "Hello", status=1)
            run("prompt", "--wire", "--json", "--model", "openai/test")
            run("doctor")
            run("providers", "list")
        with monkeypatch.context() as patch:
            patch.setenv("HTTPS_PROXY", f"htp://user:{secrets['proxy']}@127.0.0.1:9")
            patch.setenv("ALL_PROXY", f"htp://user:{secrets['proxy']}@127.0.0.1:9")
            patch.setenv("OPENAI_BASE_URL", "http://model.test/v1")  # proxies are not used for this machine
            run("run", "--model", "openai/test", "Hello", status=2)
            run("doctor")
        urls = (
            f"postgresql://user:{secrets['database']}@127.0.0.1:9/db",
            f"postgres://user:{secrets['database']}@127.0.0.1:99999/db",
            f"postgresql://user:{secrets['database']}@[::1/db",
            f"postgresql://127.0.0.1:9/db?password={secrets['database']}&nonsense=1",
            f"mysql://user:{secrets['database']}@127.0.0.1/db",
        )
        for number, url in enumerate(urls):
            with monkeypatch.context() as patch:
                patch.setenv("ONECLAW_DATABASE_URL", url)
                step = 1 if is_long else len(urls)
                for command in COMMANDS_WITHOUT_A_DATABASE[0 if is_long else number :: step]:
                    run(*command.split())
    # Each service was told its own key, and none but its own.
    for kind, path in PATHS.items():
        told = [" ".join(value for _, value in each.headers) for each in service.requests if path in each.target]
        assert any(secrets[kind] in each for each in told)
        others = [secret for name, secret in secrets.items() if PATHS.get(name) != path]
        assert not any(secret in each for each in told for secret in others)
    assert any("[redacted]" in each.stdout + each.stderr for each in runs)

    leaks = []
    for name, secret in secrets.items():
        for trace in traces(secret):
            leaks += [(name, each) for each in runs if trace in (each.stdout + each.stderr).encode()]
            leaks += [
                (name, path)
                for path in home.rglob("*")
                if path.is_file() and path.name not in MEANT and trace in path.read_bytes()
            ]
            leaks += [(name, each) for each in service.requests if trace in each.body + each.target.encode()]
    assert leaks == []
