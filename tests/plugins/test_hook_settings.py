"""Settings of hooks: their order, and the limits that switch one off."""

import json

from plugins_at_work import record_with, running

from oneclaw_core.config.user_choices import hook_timeouts, listed_setting, read_timeout
from oneclaw_core.plugins.plugin import Plugin
from oneclaw_core.plugins.running.hook_timeouts import HookTimeouts


def test_settings_of_hooks_are_read_from_the_environment_or_the_store():
    for stored, environ, names in (
        ({}, {}, []),
        ({"plugin_order": ["a", " b ", "", 7]}, {}, ["a", "b", "7"]),
        ({"plugin_order": ("a",)}, {}, ["a"]),
        ({"plugin_order": "a, b,,"}, {}, ["a", "b"]),
        ({"plugin_order": 7}, {}, []),
        ({"plugin_order": ["a"]}, {"ONECLAW_PLUGIN_ORDER": "c"}, ["c"]),
        ({"plugin_order": ["a"]}, {"ONECLAW_PLUGIN_ORDER": ""}, ["a"]),
    ):
        assert listed_setting(stored, environ, "plugin_order") == names
    for text, limit in (
        ("acme=2.5", ("acme", 2.5)),
        (" acme =600", ("acme", 600.0)),
        *(
            (text, None)
            for text in ("acme=600.1", "acme=0", "acme=-1", "=3", " =3", "acme", "acme=x", "a=b=3", "acme=nan")
        ),
    ):
        assert read_timeout(text) == limit
    assert hook_timeouts({"hook_timeouts": ["a=1", "bad", "b=2", "a=3"]}, {}) == {"a": 3.0, "b": 2.0}
    assert hook_timeouts({}, {"ONECLAW_HOOK_TIMEOUTS": "a=4"}) == {"a": 4.0}


class Clock:
    now = 1_000_000.0

    def __call__(self):
        return self.now


def test_three_timeouts_within_ten_minutes_switch_a_hook_off_for_an_hour(tmp_path):
    record, other = Plugin("acme", version="1", hooks={"a": 1, "b": 2}), Plugin("acme", version="2")
    for path in (None, tmp_path / "home" / "timeouts.json"):
        if path is not None:
            path.parent.mkdir()
        clock = Clock()
        timeouts = HookTimeouts(path, clock)
        assert not timeouts.is_off(record, "a")
        assert [timeouts.note(record, "a"), timeouts.note(record, "a")] == [False, False]
        clock.now += 600.0  # which is too late for the first two
        assert [timeouts.note(record, "a"), timeouts.note(record, "a")] == [False, False]
        assert not timeouts.is_off(record, "a")
        clock.now += 599.0
        assert timeouts.note(record, "a") is True
        assert timeouts.switched_off(record) == ["a"]
        assert not timeouts.is_off(other, "a")
        clock.now += 3599.0
        assert timeouts.is_off(record, "a")
        clock.now += 1.0
        assert not timeouts.is_off(record, "a")
        clock.now -= 100
        assert timeouts.is_off(record, "a")
        assert [timeouts.forget("other"), timeouts.forget("acme"), timeouts.forget("acme")] == [False, True, False]
        assert not timeouts.is_off(record, "a")


def test_processes_share_their_counts(tmp_path):
    path, clock = tmp_path / "new" / "timeouts.json", Clock()
    record = Plugin("acme", version="1")
    first, second = HookTimeouts(path, clock), HookTimeouts(path, clock)
    assert not second.is_off(record, "a")
    for _ in range(3):
        first.note(record, "a")
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["timeouts.json"]
    assert second.is_off(record, "a")
    clock.now -= 50  # the clock was set back
    assert second.is_off(record, "a")
    (key,) = json.loads(path.read_text())
    assert json.loads(key) == ["acme", "1", "a"]
    clock.now += 7_300
    other = Plugin("other", version="1")
    first.note(other, "b")
    assert [json.loads(each) for each in json.loads(path.read_text())] == [["other", "1", "b"]]
    for content in ("{", "[]", '{"a": 1}', '{"a": ["x"]}'):
        path.write_text(content)
        clock.now += 2
        assert not HookTimeouts(path, clock).is_off(record, "a")
        third = HookTimeouts(path, clock)
        assert third.note(record, "a") is False


def test_without_a_place_for_it_a_process_counts_alone(tmp_path):
    (tmp_path / "file").write_text("")
    record, clock = Plugin("acme"), Clock()
    timeouts = HookTimeouts(tmp_path / "file" / "timeouts.json", clock)
    assert [timeouts.note(record, "a") for _ in range(3)] == [False, False, True]
    clock.now += 2
    assert timeouts.is_off(record, "a")


def test_the_limit_of_a_hook_is_the_users_the_plugins_or_that_of_its_kind():
    options = {"a": {"timeout_seconds": 4.0}}
    record = record_with(options=options, a=lambda: 1, b=lambda: 1)
    plain, limited = running(record), running(record, limits={"acme": 9.0, "other": 1.0})
    assert [plain.limit("a", 15.0), plain.limit("b", 15.0)] == [4.0, 15.0]
    assert [limited.limit("a", 15.0), limited.limit("b", 15.0)] == [9.0, 9.0]
