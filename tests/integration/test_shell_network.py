"""Commands in the sandbox reach the hosts that the user has granted: pip, git and curl, with servers on loopback."""

import asyncio
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from installations import serve_index, unpack_pip, write_wheel
from invented_names import PUBLIC_ADDRESS, PublicNames
from pytest_oneclaw.chosen_plugins import chosen_plugins
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core import OneClaw, PermissionAnswer
from oneclaw_core.process import Network, choose_sandbox
from oneclaw_core.process.sandbox.bubblewrap import Bubblewrap
from oneclaw_core.process.sandbox.landlock import Landlocked
from oneclaw_core.types.permissions import Decision, Grant

pytestmark = pytest.mark.needs("bubblewrap", "curl")

SYSTEM_PYTHON = shutil.which("python3", path="/usr/bin:/usr/local/bin:/bin") or sys.executable
ASK_DIRECTLY = """
import socket, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
for attempt in (
    lambda: opener.open("http://index.example/", timeout=5),
    lambda: socket.create_connection(("93.184.216.34", 80), timeout=5),
    lambda: socket.getaddrinfo("index.example", 80),
):
    try:
        print("reached", attempt())
    except OSError as error:
        print("nothing")
"""


@pytest.fixture
def names(monkeypatch):
    return PublicNames(monkeypatch)


@pytest.fixture
def server(names):
    """A server that stands for index.example and files.example.com."""
    with WebServer(lambda request: response(f"{request.header('host')}{request.target}")) as server:
        for name in ("index.example", "files.example.com", "evilexample.com"):
            names.add(name, PUBLIC_ADDRESS)
        names.lead(PUBLIC_ADDRESS, 80, server.port)
        yield server


@pytest.fixture
def shell(tmp_path):
    """Run commands; each question is answered with ``answer`` and noted in ``asked``."""

    def shell(*calls, answer=PermissionAnswer.ONCE, asked=None, grants=(), log=False, environ=None):
        async def ask(request):
            if asked is not None:
                asked.append(f"{request.permission}:{request.subject}")
            return answer

        async def run():
            async with OneClaw.open(
                tmp_path / "home", ask=ask, environ=environ or {}, plugins=chosen_plugins(("shell",))
            ) as claw:
                for grant in grants:
                    await claw.store.set_grant(grant)
                results = [(await claw.call_tool("exec", call)).result for call in calls]
                if not log:
                    return results
                uses = await claw.store.permission_log(50)
                return [sorted(f"{each.permission}:{each.subject}" for each in uses if "network" in each.permission)]

        return asyncio.run(run())

    (tmp_path / "home" / "workspace").mkdir(parents=True)
    return shell


def curl(url, *needs):
    call = {"command": f"curl -sS --max-time 20 {url}"}
    return call | ({"needs": [f"network:{each}" for each in needs], "reason": "to look"} if needs else {})


def test_a_host_is_reached_after_one_question(shell, server):
    asked = []
    first, second = shell(
        curl("http://index.example/a", "index.example"),
        curl("http://index.example/b", "index.example"),
        answer=PermissionAnswer.SESSION,
        asked=asked,
    )
    assert first.result == "[exit code: 0]\n\nindex.example/a"
    assert second.result.endswith("index.example/b")
    assert asked == ["shell.network:index.example"]


def test_without_a_question_nothing_is_reached_and_the_refusal_says_what_to_ask_for(shell, server, names):
    asked = []
    (refused,) = shell(curl("http://index.example/a"), asked=asked)
    assert "OneClaw: the command may not connect to index.example" in refused.result
    assert '"denied": [{"kind": "network", "target": "index.example", "permission": "network:index.example"}]' in (
        refused.result
    )
    assert '"is_certain": true' in refused.result
    assert (asked, server.requests, names.lookups) == ([], [], [])


@pytest.mark.long
def test_an_answer_for_once_holds_for_one_command(shell, server):
    asked = []
    allowed, refused = shell(
        curl("http://index.example/a", "index.example"), curl("http://index.example/b"), asked=asked
    )
    assert allowed.result.endswith("index.example/a")
    assert "may not connect" in refused.result
    assert len(asked) == 1


def test_a_refusal_keeps_the_command_from_running(shell, server):
    (refused,) = shell(curl("http://index.example/a", "index.example"), answer=PermissionAnswer.NO)
    assert refused.error_type == "permission_denied"
    assert server.requests == []


@pytest.mark.long
def test_a_lasting_answer_is_for_this_host_in_this_directory(shell, server, tmp_path):
    asked = []
    shell(curl("http://index.example/a", "index.example"), answer=PermissionAnswer.ALWAYS, asked=asked)
    here, other_host = shell(curl("http://index.example/b"), curl("http://evilexample.com/"), asked=asked)
    assert here.result.endswith("index.example/b")
    assert "may not connect" in other_host.result

    (tmp_path / "home" / "workspace" / "other").mkdir()
    (elsewhere,) = shell(curl("http://index.example/c") | {"working_directory": str(tmp_path / "home/workspace/other")})
    assert "may not connect" in elsewhere.result
    assert asked == ["shell.network:index.example"]


@pytest.mark.long
def test_the_log_has_each_host_of_a_command_once(shell, server):
    (used,) = shell(
        {"command": "curl -sS http://index.example/a; curl -sS http://index.example/b"},
        grants=[Grant("shell.network", "index.example"), Grant("network.public")],
        log=True,
    )
    assert used == ["network.public:index.example", "shell.network:index.example"]


@pytest.mark.long
def test_a_pattern_means_what_is_below_a_name(shell, server):
    grants = [Grant("shell.network", "*.example.com")]
    below, beside = shell(curl("http://files.example.com/"), curl("http://evilexample.com/"), grants=grants)
    assert below.result.endswith("files.example.com/")
    assert "may not connect to evilexample.com" in beside.result


@pytest.mark.long
def test_another_port_is_asked_for_by_itself(shell, server, names):
    names.lead(PUBLIC_ADDRESS, 8080, server.port)
    asked = []
    refused, allowed = shell(
        curl("http://index.example:8080/", "index.example"),
        curl("http://index.example:8080/", "index.example:8080"),
        asked=asked,
    )
    assert "network:index.example:8080" in refused.result
    assert allowed.result.endswith("index.example:8080/")
    assert asked == ["shell.network:index.example", "shell.network:index.example:8080"]


def test_a_private_address_is_asked_for_too_and_loopback_never_reached(shell, names, server):
    names.add("mirror.example", "10.1.2.3")
    names.lead("10.1.2.3", 80, server.port)
    names.add("local.example", "127.0.0.1")
    asked = []
    private, local = shell(
        curl("http://mirror.example/", "mirror.example"), curl("http://local.example/", "local.example"), asked=asked
    )
    assert private.result.endswith("mirror.example/")
    assert "which no command may reach" in local.result
    assert asked == [
        "shell.network:mirror.example",
        "network.private:mirror.example:80@private",
        "shell.network:local.example",
    ]


def test_a_grant_by_a_pattern_opens_no_private_address(shell, names, server):
    names.add("mirror.example.com", "10.1.2.3")
    names.lead("10.1.2.3", 80, server.port)
    (refused,) = shell(
        curl("http://mirror.example.com/"),
        grants=[Grant("shell.network", "*.example.com"), Grant("network.private")],
    )
    assert "is at the private address 10.1.2.3" in refused.result
    assert server.requests == []


def test_a_denial_of_the_network_holds_for_commands(shell, server):
    (refused,) = shell(
        curl("http://index.example/", "index.example"), grants=[Grant("network.public", decision=Decision.DENY)]
    )
    assert "network.public" in refused.result
    assert server.requests == []


@pytest.mark.long
def test_nothing_goes_past_the_proxy(shell, server):
    (call,) = shell(
        {
            "command": f"{SYSTEM_PYTHON} -c '{ASK_DIRECTLY}'",
            "needs": ["network:index.example"],
            "reason": "to look",
        }
    )
    assert call.result.startswith("[exit code: 0]\n\nnothing\nnothing\nnothing")
    assert server.requests == []


def test_where_the_network_of_a_sandbox_cannot_be_entered_there_is_none(shell, server, monkeypatch):
    original = Bubblewrap._namespaces

    def namespaces(self, policy):
        shares_network = policy.network is Network.DOMAINS
        return (each for each in original(self, policy) if not shares_network or each != "--unshare-net")

    monkeypatch.setattr(Bubblewrap, "_namespaces", namespaces)
    monkeypatch.setattr(choose_sandbox("auto").backend, "allows_domains", True)
    asked = []
    needing, other, later = shell(
        curl("http://index.example/", "index.example"),
        curl("http://index.example/"),
        curl("http://index.example/", "index.example"),
        asked=asked,
    )
    assert (needing.error_type, asked) == ("execution_error", ["shell.network:index.example"])
    assert "Could not resolve host" in other.result
    assert later.error_type == "validation_error"
    assert server.requests == []


@pytest.mark.parametrize("need", ["network:*.example.com", "network:a b", "network:http://a", "network:a@loopback"])
def test_a_need_that_is_no_host_is_an_error(shell, need):
    (refused,) = shell({"command": "true", "needs": [need], "reason": "to look"})
    assert refused.error_type == "validation_error"


@pytest.mark.long  # the same with git is quick
def test_pip_installs_from_a_granted_index(shell, names, tmp_path):
    workspace = tmp_path / "home" / "workspace"
    unpack_pip(workspace / "pip")
    write_wheel(tmp_path / "wheels", "acme-tools", is_plugin=False)
    with serve_index(tmp_path / "wheels") as url:
        names.add("index.example", PUBLIC_ADDRESS)
        names.lead(PUBLIC_ADDRESS, 80, urlsplit(url).port)
        install = {
            "command": f"PYTHONPATH=pip {SYSTEM_PYTHON} -m pip install --target site --no-cache-dir --retries 0 "
            "--disable-pip-version-check --trusted-host index.example --index-url http://index.example/simple "
            "acme-tools",
            "timeout_seconds": 120,
        }
        refused, installed = shell(install, install | {"needs": ["network:index.example"], "reason": "a library"})

    assert '"permission": "network:index.example"' in refused.result
    assert installed.result.startswith("[exit code: 0]")
    assert (workspace / "site" / "acme_tools.py").is_file()


@pytest.mark.needs("git")
def test_git_clones_from_a_granted_host(shell, names, tmp_path):
    source = tmp_path / "source"
    git = partial(subprocess.run, check=True, capture_output=True)
    git(["git", "init", "-q", source])
    git(["git", "-C", source, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"])
    git(["git", "-C", source, "update-server-info"])

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        names.add("git.example", PUBLIC_ADDRESS)
        names.lead(PUBLIC_ADDRESS, 80, server.server_port)
        clone = {"command": "git clone -q http://git.example/source/.git copy && git -C copy log --format=%s"}
        refused, cloned = shell(clone, clone | {"needs": ["network:git.example"], "reason": "the source"})
        server.shutdown()

    assert '"permission": "network:git.example"' in refused.result
    assert cloned.result == "[exit code: 0]\n\nx"


@pytest.mark.long
def test_a_grant_for_all_hosts_is_not_enough_in_a_conversation_that_others_may_steer(oneclaw_factory, server):
    claw = oneclaw_factory(("shell",))
    claw.user.says("no")
    claw.run(claw.app.store.set_grant(Grant("shell.network")))

    def have(*calls):
        for each in calls:
            claw.model.calls("exec", each)
        claw.model.says("Done.")
        return [each.result for each in claw.send("Go on.").tool_calls]

    # What the first command gives is text from outside, and may be private.
    reached, refused, denied = have(
        curl("http://index.example/a"), curl("http://index.example/b"), curl("http://index.example/c", "index.example")
    )
    assert reached.result.endswith("index.example/a")
    assert "may not connect" in refused.result
    assert denied.error_type == "permission_denied"
    (question,) = claw.user.asked
    assert question.permission == "shell.network"
    assert "the tool exec" in question.holds

    claw.run(claw.app.store.set_grant(Grant("shell.network", "index.example")))
    (named,) = have(curl("http://index.example/d"))
    assert named.result.endswith("index.example/d")


def test_a_sandbox_that_knows_no_hosts_asks_for_nothing_that_is_wider(shell, server):
    strength = Landlocked().probe()
    if not strength.is_available:
        pytest.skip(strength.reason)
    asked = []
    (refused,) = shell(
        curl("http://index.example/", "index.example"), asked=asked, environ={"ONECLAW_SANDBOX": "landlock"}
    )
    assert refused.error_type == "validation_error"
    assert "the sandbox landlock cannot reach single hosts: ask for unsandboxed" in refused.error_message
    assert asked == []


def test_a_command_in_the_background_reaches_what_was_granted_when_it_began(server, oneclaw_factory):
    home = oneclaw_factory(("shell",))
    home.user.says("once")
    command = (
        "mkfifo gate; read line < gate; curl -s http://index.example/a; curl -s http://files.example.com/b;"
        "curl -s http://127.0.0.1/; exit 0"
    )
    home.model.calls("load_tool_group", group_name="background")
    home.model.calls("start_command", command=command, needs=["network:index.example"]).then("It runs.")
    home.send("Begin.")
    (home.home.workspace / "gate").write_text("on\n")

    async def ended():
        while home.app.background.here():
            await asyncio.sleep(0.01)
        (work,) = await home.app.background.all_work()
        return work.id

    home.model.calls("read_command_output", id=home.run(ended())).then("Done.")
    (read,) = home.send("Go on.").tool_calls
    assert "index.example/a" in read.result.result
    assert '"target": "files.example.com", "permission": "network:files.example.com"' in read.result.result
    assert [each.subject for each in home.user.asked] == ["index.example"]
