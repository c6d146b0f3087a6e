"""The core tool js_eval, and what programs reach through its bridges: real engine, files and servers."""

import asyncio
import json
import threading
import time

import pytest
from oneclaw_javascript.errors import JavaScriptError
from oneclaw_javascript.js_eval import js_eval
from oneclaw_javascript.running import run_javascript
from oneclaw_javascript.tool_bridges import MAX_FETCHED_BYTES, MAX_LIBRARY_BYTES, javascript_bridges
from pytest_oneclaw import running_call
from pytest_oneclaw.web_server import WebServer, response

from oneclaw_core import OneClaw, PermissionAnswer, ToolContext
from oneclaw_core.files import PathGuard
from oneclaw_core.permissions import Decision, Grant


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.delenv("ONECLAW_DATABASE_URL", raising=False)
    (tmp_path / "project").mkdir()
    return tmp_path / "home"


@pytest.fixture
def evaluate(home):
    """Run code by the tool, through the engine; gives the result."""

    def evaluate(code, *, allow=("network.private",), ask=None, deny=(), **arguments):
        async def main():
            options = {"allow": allow, "ask": ask, "start_directory": home.parent / "project"}
            plugins = ["builtin", "javascript"]
            if deny:
                async with OneClaw.open(home, plugins=plugins) as claw:
                    for permission in deny:
                        await claw.store.set_grant(Grant(permission, decision=Decision.DENY))
            async with OneClaw.open(home, plugins=plugins, **options) as claw:
                return (await claw.call_tool("js_eval", {"code": code, **arguments})).result

        return asyncio.run(main())

    return evaluate


@pytest.fixture
def value(evaluate):
    """The text that code comes to."""

    def value(code, **options):
        result = evaluate(code, **options)
        assert result.is_success, result.error_message
        return result.result

    return value


@pytest.fixture
def refused(evaluate):
    """The error that code comes to, which is of the given type."""

    def refused(code, error_type="execution_error", **options):
        result = evaluate(code, **options)
        assert result.error_type == error_type, result
        return result.error_message

    return refused


def test_known_keys_in_files_are_not_given_to_the_model(value, home, monkeypatch):
    monkeypatch.setenv("LAB_API_KEY", "lab-0123456789-0123456789")
    (home.parent / "project" / "keys.txt").write_text("LAB_API_KEY=lab-0123456789-0123456789\n")
    shown = value("const text = fs.readFile('keys.txt'); console.log(text); text.length + ' ' + text")
    assert "lab-0123456789" not in shown
    assert shown.startswith("38 LAB_API_KEY=[redacted]\n")


@pytest.mark.long
def test_the_value_is_the_result(value):
    assert value("6*7") == "42"
    assert value("({a: 'ü'})") == '{"a":"ü"}'
    assert value("undefined") == "The script returned nothing; use return."
    assert value("async function main() { return 'done' }") == "done"


def test_the_console_is_shown_with_the_value(value):
    assert value("console.log('a', 1); console.warn('b'); 'value'") == "value\n\n[console]\na 1\nwarn: b"
    assert value("console.log('only this')") == "[console]\nonly this"


def test_the_console_is_shown_with_an_error(refused):
    message = refused("console.log('so far'); nothing")
    assert message == "ReferenceError: nothing is not defined (at line 1:24).\n\n[console]\nso far"


def test_there_is_an_environment_without_any_variables(value):
    assert value("[typeof params._env.PATH, JSON.stringify(params)].join()") == 'undefined,{"_env":{}}'


def test_blank_and_endless_code_is_a_validation_error(refused):
    assert refused(" \n", "validation_error") == "code must not be blank."
    assert "too long" in refused("1;" * 600_000, "validation_error")


def test_code_that_cannot_be_parsed_is_an_execution_error(refused):
    assert refused("let a = ;") == "SyntaxError: unexpected token in expression: ';' (at line 1:9)."


@pytest.mark.one_python
def test_the_time_is_limited_and_within_bounds(refused):
    begun = time.monotonic()
    assert refused("while (true);", "timeout", timeout_seconds=-5).startswith("The code was stopped after 1 s")
    assert time.monotonic() - begun < 30


def test_a_console_line_is_shown_as_it_is_written(home):
    shown = []

    async def main():
        async with running_call(home, report=lambda message, fraction: shown.append(message)) as context:
            await js_eval(code, context=context)
            await asyncio.sleep(0)

    code = "for (let i = 0; i < 60; i++) console.log('line ' + i + 'x'.repeat(200))"
    asyncio.run(main())
    assert len(shown) == 50
    assert shown[0] == "line 0" + "x" * 194


def test_it_can_be_executed_by_hand(home):
    context = ToolContext(home, None, "test", "js_eval", "call_1", PathGuard(home, home))
    assert asyncio.run(js_eval("console.log('x'); 1", context=context)).result == "1\n\n[console]\nx"


class TestFiles:
    def test_files_are_written_and_read(self, value, home):
        code = """
        fs.writeFile('notes/a.txt', 'grün\\n')
        fs.appendFile('notes/a.txt', '€')
        const text = await fs.readFile('notes/a.txt', 'utf-8')
        [text, fs.exists('notes/a.txt'), fs.exists('notes'), fs.exists('b.txt')]
        """.replace("\n        [text", ";\n        [text")
        assert json.loads(value(code)) == ["grün\n€", True, True, False]
        assert (home / "workspace" / "notes" / "a.txt").read_text() == "grün\n€"

    @pytest.mark.long
    def test_the_start_directory_is_read_and_not_written(self, value, refused, home):
        (home.parent / "project" / "data.csv").write_text("a,b")
        assert value("fs.readFile('data.csv')") == "a,b"
        path = str(home.parent / "project" / "new.csv")
        assert "which the user does not trust" in refused(f"fs.writeFile({path!r}, '')", "permission_denied")

    @pytest.mark.one_python
    @pytest.mark.parametrize("path", ["/etc/passwd", "../../../../etc/passwd", "/proc/self/environ"])
    def test_nothing_else_is_read_or_seen(self, path, value, refused, home):
        assert "is outside the directories" in refused(f"fs.readFile({path!r})", "permission_denied")
        assert value(f"fs.exists({path!r})") == "false"

    @pytest.mark.long
    def test_links_lead_nowhere_else(self, value, refused, home):
        (home / "workspace").mkdir(parents=True)
        (home / "workspace" / "link").symlink_to("/etc")
        (home.parent / "project" / "link").symlink_to("/etc")
        refused("fs.readFile('link/passwd')", "permission_denied")
        refused("fs.writeFile('link/new', '')", "permission_denied")
        assert value("fs.exists('link/passwd')") == "false"

    @pytest.mark.long
    def test_the_home_is_closed(self, refused, value):
        assert value("fs.exists('../oneclaw.db')") == "false"
        refused("fs.readFile('../oneclaw.db')", "permission_denied")
        refused("fs.writeFile('../tools/lib/x.js', '')", "permission_denied")

    @pytest.mark.one_python
    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("fs.readFile('none.txt')", "fs.readFile: there is no file 'none.txt'"),
            ("fs.readFile('.')", "it is a directory, not a file"),
            ("fs.readFile('a.txt', 'klingon')", "no known text encoding"),
            ("fs.readFile(5)", "fs.readFile: path must be a string, not 5"),
            ("fs.readFile('a\\0b')", "NUL"),
            ("fs.writeFile('a.txt')", "content must be a string, not undefined"),
            ("fs.writeFile('a.txt', {})", "content must be a string, not {}"),
            ("fs.writeFile('x'.repeat(300), '')", "too long"),
            ("fs.writeFile('a.txt', 'x'.repeat(5e6))", "at most 1000000 characters can be passed at once"),
            ("fs.readFile('big.txt')", "more than 1048576 bytes"),
            ("fs.readFile('image.png')", "is a PNG image, not text"),
        ],
    )
    def test_what_cannot_be_done_is_an_error_that_the_code_can_catch(self, code, message, value, home):
        project = home.parent / "project"
        (project / "big.txt").write_bytes(b"x" * 1_100_000)
        (project / "image.png").write_bytes(b"\x89PNG\r\n\x1a\n")
        assert message in value(f"try {{ {code}; 'done' }} catch (e) {{ e.message }}")

    @pytest.mark.long
    @pytest.mark.one_python
    @pytest.mark.parametrize(
        ("code", "permission"),
        [
            ("fs.readFile('a.txt')", "files.read"),
            ("fs.exists('a.txt')", "files.read"),
            ("fs.writeFile('a.txt', '')", "files.write"),
            ("fs.appendFile('a.txt', '')", "files.write"),
        ],
    )
    def test_a_permission_that_was_denied_is_denied(self, code, permission, refused, value):
        assert f"'{permission}' is set to never" in refused(code, "permission_denied", deny=[permission])
        caught = f"try {{ {code} }} catch (e) {{ e.name }}"
        assert value(caught, deny=[permission]) == "PermissionDeniedError"


class TestFetch:
    def test_a_response_has_what_programs_look_at(self, value):
        answer = response(
            '{"a": [1]}', status="201 Created", headers=[("Content-Type", "application/json"), ("X-A", "b")]
        )
        with WebServer(lambda _: answer) as server:
            code = f"""
            const r = await fetch({server.url + "/p?q=1"!r});
            const {{ ok, status, statusText, url, redirected, truncated, headers }} = r;
            ({{
              ok, status, statusText, url, redirected, truncated,
              type: headers['content-type'], a: headers.get('X-A'), none: headers.get('none'), has: headers.has('x-a'),
              names: Object.keys(headers), json: await r.json(), text: await r.text()
            }})
            """
            result = json.loads(value(code))
        assert result == {
            "ok": True,
            "status": 201,
            "statusText": "Created",
            "url": server.url + "/p?q=1",
            "redirected": False,
            "truncated": False,
            "type": "application/json",
            "a": "b",
            "none": None,
            "has": True,
            "names": ["content-type", "x-a", "content-length"],
            "json": {"a": [1]},
            "text": '{"a": [1]}',
        }

    @pytest.mark.one_python
    @pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "patch"])
    def test_methods_with_a_body(self, method, value):
        with WebServer(lambda _: response("ok")) as server:
            options = f"{{ method: {method!r}, body: JSON.stringify({{ a: 'ü' }}), headers: {{ 'X-Key': 5 }} }}"
            assert value(f"const r = await fetch({server.url!r}, {options}); await r.text()") == "ok"
        (request,) = server.requests
        assert request.method == method.upper()
        assert request.body == '{"a":"ü"}'.encode()
        assert request.header("content-type") == "application/json"
        assert request.header("x-key") == "5"

    def test_head_and_methods_without_a_body(self, value):
        with WebServer(lambda _: response("", headers=[("X-Total", "7")])) as server:
            assert value(f"(await fetch({server.url!r}, {{ method: 'HEAD' }})).headers['x-total']") == "7"
        assert server.requests[0].method == "HEAD"

    @pytest.mark.long
    def test_a_content_type_stays_and_headers_can_be_pairs_or_a_map(self, value):
        with WebServer(lambda _: response("ok")) as server:
            value(f"await fetch({server.url!r}, {{ method: 'POST', body: 'a=1', headers: [['Content-Type', 'x/y']] }})")
            value(f"await fetch({server.url!r}, {{ headers: new Map([['X-Map', '1']]) }})")
        assert server.requests[0].header("content-type") == "x/y"
        assert server.requests[1].header("x-map") == "1"

    def test_any_status_is_a_response(self, value):
        with WebServer(lambda _: response("gone", status="410 Gone")) as server:
            assert value(f"const r = await fetch({server.url!r}); [r.ok, r.status]") == "[false,410]"

    def test_an_empty_body_is_empty_text(self, value):
        with WebServer(lambda _: response(b"", status="204 No Content", headers=[])) as server:
            assert value(f"(await (await fetch({server.url!r})).text()).length") == "0"

    @pytest.mark.long
    def test_requests_run_side_by_side(self, value):
        arrived = threading.Barrier(5, timeout=60)

        def answer(request):
            arrived.wait()  # passes when five requests are there at once
            return response(request.target)

        with WebServer(answer) as server:
            code = f"""
            const get = async (n) => (await fetch(`{server.url}/${{n}}`)).text();
            (await Promise.all([0, 1, 2, 3, 4].map(get))).join(' ')
            """
            assert value(code) == "/0 /1 /2 /3 /4"

    @pytest.mark.long
    @pytest.mark.one_python
    def test_a_hundred_requests_come_through(self, value):
        with WebServer(lambda request: response(request.target)) as server:
            code = f"""
            const get = async (_, n) => (await fetch(`{server.url}/${{n}}`)).text();
            (await Promise.all(Array.from({{ length: 100 }}, get))).map((text) => Number(text.slice(1)))
            """
            assert json.loads(value(code)) == list(range(100))

    @pytest.mark.long
    def test_files_can_be_read_while_requests_are_under_way(self, value, home):
        with WebServer(lambda request: response(request.target)) as server:
            code = f"""
            const pending = [1, 2, 3].map((n) => fetch(`{server.url}/${{n}}`));
            for (let n = 0; n < 20; n++) fs.writeFile(`f${{n}}.txt`, String(n));
            const texts = await Promise.all(pending.map(async (each) => (await each).text()));
            texts.join('') + fs.readFile('f19.txt')
            """
            assert value(code) == "/1/2/319"

    def test_a_request_that_no_one_waits_for_is_made(self, value):
        with WebServer(lambda _: response("ok")) as server:
            assert value(f"fetch({server.url!r}, {{ method: 'POST', body: 'x' }}); 'sent'") == "sent"
        assert server.requests[0].body == b"x"

    def test_a_long_body_is_cut_with_a_notice_and_is_no_json(self, value):
        with WebServer(lambda _: response("é" * MAX_FETCHED_BYTES)) as server:
            code = f"""
            const r = await fetch({server.url!r});
            const text = await r.text();
            [r.truncated, text.length, text.slice(-50), await r.json().catch((e) => e.message)]
            """
            truncated, length, end, message = json.loads(value(code))
        assert truncated
        assert length < MAX_FETCHED_BYTES / 2 + 100
        assert end.endswith("[cut here: the body has more than 1,048,576 bytes]")
        assert "only its beginning was read" in message

    def test_a_binary_body_is_no_text(self, refused):
        answer = response(b"\x89PNG\0\0", headers=[("Content-Type", "image/png")])
        with WebServer(lambda _: answer) as server:
            assert "is not a text (image/png)" in refused(f"await (await fetch({server.url!r})).text()")

    @pytest.mark.one_python
    @pytest.mark.parametrize(
        "url",
        [
            "http://127.0.0.1:1/",
            "http://localhost:1/",
            "http://[::1]:1/",
            "http://2130706433:1/",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::ffff:169.254.169.254]/",
            "http://10.0.0.1/",
        ],
    )
    def test_private_and_metadata_addresses_need_a_permission(self, url, refused):
        assert "'network.private' is not granted" in refused(f"await fetch({url!r})", "permission_denied", allow=())

    @pytest.mark.long
    def test_a_redirect_to_another_private_address_needs_it_too(self, refused, value):
        def ask(request):
            asked.append(request.detail)
            return PermissionAnswer.ONCE if "127.0.0.1" in request.detail else PermissionAnswer.NO

        async def asking(request):
            return ask(request)

        asked = []
        answer = response(status="302 Found", headers=[("Location", "http://169.254.169.254/secret")])
        with WebServer(lambda _: answer) as server:
            message = refused(f"await fetch({server.url!r})", "permission_denied", allow=(), ask=asking)
            caught = f"try {{ await fetch({server.url!r}) }} catch (e) {{ e.name }}"
            assert value(caught, allow=(), ask=asking) == "PermissionDeniedError"
        assert message.startswith("169.254.169.254 is at the private address 169.254.169.254")
        assert ["127.0.0.1" in detail for detail in asked] == [True, False] * 2

    def test_a_redirect_is_followed(self, value):
        def answer(request):
            if request.target == "/from":
                return response(status="302 Found", headers=[("Location", "/to")])
            return response(request.target)

        with WebServer(answer) as server:
            code = f"const r = await fetch('{server.url}/from'); [r.url, r.redirected, await r.text()].join(' ')"
            assert value(code) == f"{server.url}/to true /to"

    @pytest.mark.one_python
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ("", "fetch: url must be a string, not undefined"),
            ("'file:///etc/passwd'", "must begin with http:// or https://"),
            ("'http://'", "must begin with http://"),
            ("'http://x', { method: 'BREW' }", "method must be one of GET"),
            ("'http://x', { headers: { Host: 'y' } }", "the header Host cannot be set"),
            ("'http://x', { headers: { 'X-A': 'a\\r\\nb' } }", "line break"),
            ("'http://x', { headers: { 'a b': 'c' } }", "is not a header name"),
            ("'http://x', { headers: 'X-A: b' }", "headers must be an object"),
            ("'http://x', { body: 'b' }", "a GET request has no body"),
            ("'http://x', { method: 'POST', body: { a: 1 } }", "write an object with JSON.stringify(body)"),
            ("'http://127.0.0.1:1/'", "the connection was refused"),
            ("'http://no-such-host.invalid/'", "the host is not known"),
        ],
    )
    def test_what_cannot_be_requested_is_an_error_that_the_code_can_catch(self, arguments, message, value):
        assert message in value(f"try {{ await fetch({arguments}); 'done' }} catch (e) {{ e.message }}")

    @pytest.mark.one_python
    def test_a_server_that_hangs_does_not_outlast_the_time(self, refused):
        done = threading.Event()

        def answer(_):
            done.wait(10)
            return response("late")

        with WebServer(answer) as server:
            refused(f"await fetch({server.url!r})", "timeout", timeout_seconds=1)
            done.set()

    @pytest.mark.long
    @pytest.mark.one_python
    def test_the_time_that_the_user_takes_does_not_count(self, value):
        async def slow(_):
            await asyncio.sleep(1.3)  # longer than the code may take
            return PermissionAnswer.ONCE

        with WebServer(lambda _: response("ok")) as server:
            code = f"(await fetch({server.url!r})).status"
            assert value(code, allow=(), ask=slow, timeout_seconds=1) == "200"


class TestLibraries:
    @pytest.fixture
    def directory(self, home):
        directory = home / "tools" / "lib"
        directory.mkdir(parents=True)
        return directory

    def test_a_library_gives_what_it_exports(self, value, directory):
        (directory / "greeting.js").write_text("exports.hello = (name) => `Hello ${name}`")
        (directory / "half.js").write_text("module.exports = (n) => n / 2")
        assert value("lib('greeting').hello('you') + lib('half')(4)") == "Hello you2"

    def test_a_library_is_evaluated_once_and_can_use_others(self, value, directory):
        (directory / "count.js").write_text("globalThis.n = (globalThis.n ?? 0) + 1; exports.n = n")
        (directory / "user.js").write_text("exports.n = lib('count').n + require('count').n")
        assert value("lib('user').n + lib('count').n") == "3"

    def test_a_minified_library_comes_first(self, value, directory):
        (directory / "a.js").write_text("module.exports = 'long'")
        (directory / "a.min.js").write_text("module.exports='short'")
        assert value("lib('a')") == "short"

    def test_an_error_in_a_library_is_told_with_its_place(self, refused, directory):
        (directory / "bad.js").write_text("exports.f = () => {\n  throw new Error('mine')\n}")
        message = refused("const { f } = lib('bad')\nf()")
        assert message == "Error: mine (at line 2 of lib bad, called from line 2:1)."

    @pytest.mark.one_python
    @pytest.mark.parametrize("name", ["../oneclaw", "a/b", "a.b", "", "1a", "a\\0", "x" * 65, "%2e%2e"])
    def test_a_name_leads_nowhere_else(self, name, value):
        assert "is not a library's name" in value(f"try {{ lib({name!r}) }} catch (e) {{ e.message }}")

    def test_what_is_no_library_is_told(self, value, directory):
        (directory / "big.js").write_bytes(b"/" * (MAX_LIBRARY_BYTES + 1))
        (directory / "latin.js").write_bytes(b"'\xe4'")
        (directory / "folder.js").mkdir()
        tell = "((name) => { try { lib(name) } catch (e) { return e.message } })"
        assert "put it into the home as tools/lib/none.js" in value(f"{tell}('none')")
        assert "more than 1048576 bytes" in value(f"{tell}('big')")
        assert "not UTF-8 text" in value(f"{tell}('latin')")
        assert "folder.js" in value(f"{tell}('folder')")

    def test_a_library_that_cannot_be_parsed_is_told(self, refused, directory):
        (directory / "broken.js").write_text("exports.a = ;")
        assert "SyntaxError: unexpected token in expression: ';'" in refused("lib('broken')")


def test_the_time_is_that_of_the_tool(value, refused):
    assert value("/^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\+00:00$/.test(_time('UTC'))") == "true"
    assert value("_time('UTC', 'human_readable').endsWith('UTC')") == "true"
    assert "There is no time zone 'Mars/Base'" in refused("_time('Mars/Base')")


def test_programs_of_plugins_get_the_same_bridges_and_their_own_params(home):
    context = ToolContext(home, None, "test", "mine", "call_1", PathGuard(home, home))
    code = "const execute = async ({ zone, _env }) => _env.KEY + _time(zone).slice(-6)"
    params = {"zone": "UTC", "_env": {"KEY": "k"}}
    bridges = javascript_bridges(context)
    result = asyncio.run(run_javascript(code, function_name="execute", params=params, bridges=bridges))
    assert result.value == "k+00:00"
    with pytest.raises(JavaScriptError, match="defines no function execute"):
        asyncio.run(run_javascript("1", function_name="execute", bridges=bridges))
