"""Objects of the plugin contract: defaults, copies that cannot be changed, secrets, and contexts."""

import asyncio
import copy
import dataclasses
import json
import pickle
from types import SimpleNamespace

import pytest

from oneclaw_core import PluginError, UsageError, hookimpl
from oneclaw_core.channels.command_context import ChatCommandContext
from oneclaw_core.config.keys import PluginSecrets
from oneclaw_core.contract import arguments, checks, contact_points, tool_source
from oneclaw_core.contract.arguments import frozen
from oneclaw_core.contract.contact_points import WebRequest, WebResponse
from oneclaw_core.contract.context import PluginContext
from oneclaw_core.hookspecs import HOOK_KINDS, HookKind
from oneclaw_core.installation import stores
from oneclaw_core.loops.services_across import _across, _events_across
from oneclaw_core.plugins.plugin import Plugin, Registration
from oneclaw_core.secrets.store import SecretPlace
from oneclaw_core.services.context import ServiceContext

DEFAULTS = {
    arguments.SessionInfo: dict.fromkeys(
        ("name", "parent_id", "created_at", "directory", "model", "title", "updated_at")
    ),
    arguments.TurnInfo: {"can_ask": False, "parent_call_id": None},
    arguments.CallInfo: {
        **{"group": None, "plugin": None, "required_permissions": (), "agent": "", "turn": None, "caller": "model"},
        "is_read_only": False,
        "parent_call_id": None,
    },
    arguments.TurnOutcome: {"text": "", "cost": None, "error": None, "error_type": None, "is_interrupted": False},
    arguments.ModelCall: {"purpose": "answer"},
    arguments.ModelAnswer: {
        "response": None,
        "error": None,
        "error_type": None,
        "duration_ms": 0.0,
        "first_chunk_ms": None,
    },
    arguments.TurnWork: {"outcome": None},
    arguments.ModelWork: {"answer": None},
    arguments.ToolWork: {"result": None},
    arguments.Ask: {"detail": "", "subject": None},
    arguments.PromptSection: {"max_characters": 4000, "core_tool": None},
    arguments.MessageCommand: {"problem": None, "arguments": ()},
    arguments.ExpandedMessage: {"groups": (), "outside": ""},
    checks.CheckResult: {"remedy": None, "fix": None},
    contact_points.ChatNotice: {"page": None, "command": ""},
    contact_points.OutMessage: {
        **{"to": "", "attachments": (), "reply_to": None, "title": "", "data": None, "key": None},
    },
    contact_points.Receipt: {"id": None},
    contact_points.TriggerSetup: {"note": "", "values": {}},
    contact_points.Trigger: {"set_up": None, "take_request": None},
    WebRequest: {
        **{"method": "GET", "path": "", "path_parameters": {}, "query": {}, "headers": {}, "body": b"", "client": None},
    },
    WebResponse: {"status": 200, "body": b"", "media_type": "text/plain; charset=utf-8", "headers": {}},
    tool_source.SourceTool: {"group": None, "origin": "", "type": None, "is_bound": True},
    tool_source.GroupTools: {"permissions": {}},
    tool_source.SourceGroup: {"open": None, "origin": "", "tool_names": (), "read": None},
    tool_source.KnownTool: {"group": None, "origin": ""},
    contact_points.WebLink: {"path": "", "session": ""},
    contact_points.WebForm: {
        **{"about": "", "title": "", "fields": {}, "values": {}, "hidden": {}, "is_destructive": False},
    },
    contact_points.WebTable: {"title": "", "empty": "There are none."},
    contact_points.WebText: {"kind": "plain", "title": ""},
    contact_points.WebPage: {"notice": ""},
}


def default_of(field):
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def test_what_need_not_be_given():
    for kind, expected in DEFAULTS.items():
        found = {each.name: default_of(each) for each in dataclasses.fields(kind)}
        given = {name: value for name, value in found.items() if value is not dataclasses.MISSING}
        assert given == expected, kind


def test_each_hook_has_its_kind():
    kinds = {}
    for hook, kind in HOOK_KINDS.items():
        kinds.setdefault(kind.value, []).append(hook)
    registration = kinds.pop("registration")
    assert all(each.startswith("register_") for each in registration)
    assert kinds["gate"] == ["before_turn", "before_tool_call"]
    assert kinds["rewriter"] == ["rewrite_tool_call", "rewrite_tool_result"]
    assert kinds["around"] == ["around"]
    assert set(kinds["lifecycle"]) == {"plugin_started", "plugin_stopped", "settings_changed"}
    assert {each.value for each in HookKind} == {"registration", *kinds}


def test_a_mark_keeps_its_options():
    for options, expected in (
        ({}, {"tools": None, "timeout_seconds": None, "in_turns": False, "skips_read_only": False}),
        (
            {"tools": ["a", "b"], "timeout_seconds": 2, "in_turns": True, "skips_read_only": True},
            {"tools": ["a", "b"], "timeout_seconds": 2, "in_turns": True, "skips_read_only": True},
        ),
    ):
        marked = hookimpl(**options)(lambda: None)
        assert marked.oneclaw_options == expected
        assert (marked.oneclaw_impl["tryfirst"], marked.oneclaw_impl["trylast"]) == (False, False)
    assert hookimpl(lambda: None).oneclaw_options["tools"] is None
    for name in ("tryfirst", "trylast"):
        assert hookimpl(**{name: True})(lambda: None).oneclaw_impl[name] is True


def test_arguments_of_hooks_cannot_be_changed():
    given = {"a": [1, {"b": (2, 3)}], "c": "d"}
    found = frozen(given)
    assert found == {"a": [1, {"b": [2, 3]}], "c": "d"}
    given["a"].append(4)
    assert len(found["a"]) == 2
    for change in (
        lambda: found.update(x=1),
        lambda: found.__setitem__("x", 1),
        lambda: found.__delitem__("a"),
        lambda: found.setdefault("x", 1),
        lambda: found.pop("a"),
        lambda: found.popitem(),
        lambda: found.clear(),
        lambda: found.__ior__({}),
        lambda: found["a"].append(1),
        lambda: found["a"].extend([]),
        lambda: found["a"].insert(0, 1),
        lambda: found["a"].remove(1),
        lambda: found["a"].pop(),
        lambda: found["a"].clear(),
        lambda: found["a"].sort(),
        lambda: found["a"].reverse(),
        lambda: found["a"].__iadd__([1]),
        lambda: found["a"].__imul__(2),
        lambda: found["a"][1].update(x=1),
        lambda: found["a"][1]["b"].__setitem__(0, 1),
        lambda: found["a"].__delitem__(0),
    ):
        with pytest.raises(TypeError) as error:
            change()
        assert str(error.value) == (
            "what a hook is called with cannot be changed: make a copy with copy.deepcopy, and return that"
        )
    for thawed in (copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        assert (thawed, type(thawed), type(thawed["a"]), type(thawed["a"][1])) == (found, dict, list, dict)
        thawed["a"][1]["b"].append(1)
    inner = pickle.loads(pickle.dumps(found["a"]))
    assert (inner, type(inner)) == ([1, {"b": [2, 3]}], list)
    assert json.dumps(found) == '{"a": [1, {"b": [2, 3]}], "c": "d"}'
    assert (frozen(7), frozen("x"), frozen(())) == (7, "x", [])


def test_requests_and_responses_of_the_web():
    request = WebRequest(body=b"a=1&b=&a=2&c=%C3%A9")
    assert (request.text(), request.form()) == ("a=1&b=&a=2&c=%C3%A9", {"a": "2", "b": "", "c": "é"})
    assert WebRequest(body=b'{"a": 1}').json() == {"a": 1}
    response = WebResponse.json({"a": "é"}, status=201)
    assert (response.status, response.body, response.media_type) == (201, '{"a": "é"}', "application/json")
    assert WebResponse.json([]).status == 200


class Store:
    def __init__(self, **places):
        self.places, self.values = places, {}

    def stored(self):
        return self.places

    def get(self, key):
        return f"value of {key}" if key in self.places else None

    def set(self, key, value):
        self.values[key] = value

    def remove(self, key):
        return self.places.get(key)


def test_secrets_are_of_their_plugin_alone(monkeypatch):
    remembered = []
    monkeypatch.setattr("oneclaw_core.config.keys.remember_secret", lambda secret, account: remembered.append(secret))

    async def work():
        store = Store()
        secrets = PluginSecrets("notify", store, {"ONECLAW_NOTIFY_TOKEN": "of the environment"})
        key = secrets._key("token")
        assert await secrets.get("token") == "of the environment"
        assert remembered == ["of the environment"]
        assert await secrets.get("other") is None
        for place in SecretPlace:
            store.places = {secrets._key("other"): place}
            assert await secrets.get("other") == f"value of {secrets._key('other')}"
        assert "notify" in key
        assert key != PluginSecrets("other", store, {})._key("token")
        await secrets.set("token", "x" * 8192)
        assert store.values == {key: "x" * 8192}
        for value in ("", "x" * 8193, 7):
            with pytest.raises(UsageError) as error:
                await secrets.set("token", value)
            assert str(error.value) == "a secret is a text of 1 to 8192 characters"
        for name in ("", "a b", ".a", "x" * 201, 7, "a/b"):
            with pytest.raises(UsageError) as error:
                await secrets.get(name)
            assert str(error.value) == (f"the name of a secret is made of letters, digits and _ . @ + -, not {name!r}")
        for name in ("x" * 200, "a.b@c+d-e_"):
            assert await secrets.get(name) is None
        assert await secrets.remove("other") is True
        assert await secrets.remove("none") is False

    asyncio.run(work())


async def refuse(host, address, port):
    raise AssertionError("nothing connects here")


def test_a_context_without_a_home_says_so(tmp_path):
    async def work():
        context = PluginContext("acme", tmp_path / "acme", refuse, secrets=None)
        for act, message in (
            (lambda: context.settings, "plugin acme registered no settings"),
            (lambda: context.storage, "plugin acme has no storage here"),
        ):
            with pytest.raises(PluginError) as error:
                act()
            assert str(error.value) == message
        texts = []
        for act in (lambda: context.services, None):
            with pytest.raises(PluginError) as error:
                _ = act() if act is not None else await context.ask_model("x")
            texts.append(str(error.value))
        assert len(set(texts)) == 1
        assert await context.refresh_settings() == frozenset()
        assert (context.logger.name, context.worker) == ("oneclaw.plugin.acme", None)
        made = []

        def make(given):
            made.append(given)
            return object()

        assert context.once(make) is context.once(make)
        assert made == [context]
        assert (tmp_path / "acme").exists() is False
        assert context.folder == tmp_path / "acme"
        assert (tmp_path / "acme").stat().st_mode & 0o777 == 0o700
        assert context.http is context.http
        assert context.sync_http is context.sync_http
        client, sync = context.http, context.sync_http
        await context.aclose()
        assert (client.is_closed, sync.is_closed) == (True, True)

    asyncio.run(work())


def test_a_context_asks_the_model(tmp_path):
    async def work():
        asked = []

        async def ask_model(prompt, schema):
            asked.append((prompt, schema))
            return "answer"

        context = PluginContext("acme", tmp_path, refuse, secrets=None, ask_model=ask_model)
        assert await context.ask_model("Who?", {"type": "object"}) == await context.ask_model("Who?") == "answer"
        assert asked == [("Who?", {"type": "object"}), ("Who?", None)]

    asyncio.run(work())


def test_a_task_of_a_plugin_is_named_and_its_failure_logged(tmp_path, caplog):
    async def work():
        context = PluginContext("acme", tmp_path, refuse, secrets=None)

        async def fail():
            raise ValueError("bad")

        async def last():
            await asyncio.sleep(30)

        failing, lasting = context.start_task(fail(), name="poll"), context.start_task(last())
        assert (failing.get_name(), lasting.get_name()) == ("acme: poll", "acme: ")
        await asyncio.wait({failing})
        await asyncio.sleep(0)
        assert [each.getMessage() for each in caplog.records] == ["plugin acme: a task of it failed: ValueError: bad"]
        await context.aclose()
        assert lasting.cancelled()
        assert len(caplog.records) == 1

    asyncio.run(work())


class Host:
    def __init__(self):
        self.said = []
        self.app = SimpleNamespace(
            services=SimpleNamespace(sessions="sessions"), send_message=lambda *text, **options: (text, options)
        )

    def show(self, service, text):
        self.said.append(("show", service, text))

    def ready(self, service, detail):
        self.said.append(("ready", service, detail))


def test_a_service_reaches_its_user(tmp_path):
    async def work():
        plugin, host, stopping = PluginContext("acme", tmp_path, refuse, secrets=None), Host(), asyncio.Event()
        service = ServiceContext(plugin, host, "poll", "serve", {"port": 1}, stopping)
        assert (service.service, service.runs_in, service.options, service.stopping) == (
            *("poll", "serve", {"port": 1}, stopping),
        )
        assert (service.sessions, service.app, service.name) == ("sessions", host.app, "acme")
        service.show(7)
        service.ready()
        service.ready("at 1")
        assert host.said == [("show", "poll", "7"), ("ready", "poll", ""), ("ready", "poll", "at 1")]
        plain = {"session": None, "agent": None, "attachments": (), "ask": None, "ask_user": None}
        assert service.send_message(None, "hi") == (("hi",), plain)
        service.answer_permissions("ask")
        service.answer_questions("ask user")
        assert service.send_message("s", "hi", ["a"], agent="Poet") == (
            ("hi",),
            {"session": "s", "agent": "Poet", "attachments": ["a"], "ask": "ask", "ask_user": "ask user"},
        )

    asyncio.run(work())


def test_a_command_asks_the_person_who_typed_it(tmp_path):
    async def work():
        plugin, asked = PluginContext("acme", tmp_path, refuse, secrets=None), []

        async def confirm(question):
            asked.append(question)
            return True

        command = ChatCommandContext(plugin, "terminal", None, confirm)
        assert (command.channel, command.session, command.name) == ("terminal", None, "acme")
        assert await command.confirm(7) is True
        assert asked == ["7"]
        assert await ChatCommandContext(plugin, "terminal", None).confirm("Sure?") is False

    asyncio.run(work())


def test_services_work_from_another_event_loop():
    class Service:
        value = 7
        inner = SimpleNamespace(plain=1)

        async def work(self, number, *, more=0):
            return number + more, asyncio.get_running_loop()

        def now(self):
            return "now"

    async def work():
        loop = asyncio.get_running_loop()
        across = _across(loop, Service())
        assert (across.value, across.now(), across.inner.plain) == (7, "now", 1)

        def elsewhere():
            return asyncio.run(call())

        async def call():
            return await across.work(1, more=2)

        assert await asyncio.to_thread(elsewhere) == (3, loop)
        assert _across(loop, 7) == 7
        closed = []

        async def events(*given, **options):
            try:
                yield given
                yield options
                yield "more"
            finally:
                closed.append(asyncio.get_running_loop())

        async def listen(count):
            stream, found = _events_across(loop, events, "hi", agent="Poet"), []
            async for each in stream:
                found.append(each)
                if len(found) == count:
                    break
            await stream.aclose()
            return found

        assert await asyncio.to_thread(lambda: asyncio.run(listen(9))) == [("hi",), {"agent": "Poet"}, "more"]
        assert await asyncio.to_thread(lambda: asyncio.run(listen(1))) == [("hi",)]
        assert closed == [loop, loop]

    asyncio.run(work())


def store_of(function, url="shelf://x"):
    record = Plugin("library", registrations=[Registration("register_stores", "library", "shelf", None, {}, function)])
    found = stores._registered("shelf", [record])
    return stores._opened(url, "shelf", *found)


def test_what_a_store_answers_is_checked(monkeypatch):
    def raising(error):
        def open_store(url):
            raise error

        return open_store

    assert store_of(lambda url: f"{url}/y") == "shelf://x/y"
    neither = "plugin library returned neither a backend nor another URL for 'shelf'"
    cannot = "plugin library cannot open the database of ONECLAW_DATABASE_URL ({}); the log may say why"
    for function, message in (
        (lambda url: url, neither),
        (lambda url: 7, neither),
        (raising(ValueError("secret")), cannot.format("ValueError")),
        (raising(SystemExit("secret")), cannot.format("SystemExit")),
        (raising(stores.StoreError("set a path")), "set a path"),
        (raising(PluginError("broken")), "broken"),
    ):
        with pytest.raises(stores.StoreError) as error:
            store_of(function)
        assert str(error.value) == message
    with pytest.raises(KeyboardInterrupt):
        store_of(raising(KeyboardInterrupt()))
    assert str(stores._unknown("shelf")) == (
        "no installed plugin knows databases of type 'shelf': install the package that does, with: oneclaw plugins "
        "install PACKAGE; or write sqlite:///PATH, or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
    )
    for scheme in ("postgres", "postgresql", "postgresql+x"):
        assert str(stores._unknown(scheme)).startswith("PostgreSQL needs the plugin postgres: install it with: ")
    for url, needs in (
        ("sqlite:///x", False),
        ("SQLite+pysqlite:///x", False),
        ("shelf://x", True),
        ("Shelf+oak2.0-x://y", True),
        ("/path", False),
        ("1x://y", False),
        ("sqlitex://y", True),
    ):
        assert stores._needs_plugin(url) is needs, url


def test_the_store_of_a_driver_goes_before_that_of_its_kind():
    def record(plugin, *names):
        return Plugin(plugin, registrations=[Registration("register_stores", plugin, name, None) for name in names])

    first, second = record("first", "shelf", "other"), record("second", "shelf", "shelf+oak")
    records = [
        Plugin("none", registrations=[Registration("register_checks", "none", "shelf", None)]),
        first,
        second,
    ]
    for scheme, found in (("shelf", "first"), ("shelf+oak", "second"), ("shelf+pine", "first"), ("none", None)):
        registered = stores._registered(scheme, records)
        assert (registered and registered[0].name) == found
