"""get_current_time: FEAT-004, "Built-in Tools" and "Test Points"."""

from __future__ import annotations

import json
import locale
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from oneclaw_core import ToolContext
from oneclaw_core.builtin import clock
from oneclaw_core.builtin.clock import find_zone, get_current_time, human_readable, iso8601
from oneclaw_core.files import PathGuard

pytestmark = pytest.mark.every_python

MANIFEST = Path(clock.__file__).parent / "manifests" / "get_current_time.json"


@pytest.fixture
def context(tmp_path):
    guard = PathGuard(tmp_path / "workspace", tmp_path)
    return ToolContext(tmp_path, None, "test", "get_current_time", "call_1", guard)


@pytest.fixture
def machine_in_tokyo(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def read_clock(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    assert moment.tzinfo is not None
    assert abs(datetime.now(UTC) - moment) < timedelta(seconds=5)
    return moment


def test_get_current_time_returns_correct_time_in_the_default_timezone(context, machine_in_tokyo):
    assert read_clock(get_current_time(context=context).result).utcoffset() == timedelta(hours=9)
    assert get_current_time(format="human_readable", context=context).result.endswith(" JST")


@pytest.mark.parametrize("name", ["America/New_York", "Asia/Kolkata", "UTC", "europe/berlin", " Europe/Berlin "])
def test_get_current_time_returns_correct_time_in_a_specified_timezone(context, machine_in_tokyo, name):
    moment = read_clock(get_current_time(name, context=context).result)

    assert moment.utcoffset() == moment.astimezone(find_zone(name.strip())).utcoffset()


@pytest.mark.parametrize("name", ["", " ", None])
def test_a_blank_timezone_is_the_default(context, machine_in_tokyo, name):
    assert read_clock(get_current_time(name, context=context).result).utcoffset() == timedelta(hours=9)


@pytest.mark.parametrize("name", ["ISO8601", "iso8601", "Human_Readable", "HUMAN_READABLE"])
def test_the_format_is_taken_in_any_case(context, name):
    text = get_current_time("UTC", name, context=context).result

    assert text.endswith("UTC" if "human" in name.lower() else "+00:00")


def test_an_unknown_format_is_a_validation_error(context):
    result = get_current_time(format="rfc2822", context=context)

    assert result.error_type == "validation_error"
    assert result.error_message == 'format must be "iso8601" or "human_readable", not \'rfc2822\'.'


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("Europe/Berln", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("US/Tokyo", "Asia/Tokyo"),
        ("America", None),
        ("Nowhere/Land", "Europe/Berlin"),
        ("../../etc/passwd", None),
        ("/etc/localtime", None),
        ("a\x00b", None),
        ("\ud800", None),
        ("x" * 5000, None),
    ],
)
def test_an_unknown_timezone_is_a_validation_error_with_close_matches(context, name, suggestion):
    result = get_current_time(name, context=context)

    assert result.error_type == "validation_error"
    assert result.error_message is not None
    assert "There is no time zone" in result.error_message
    assert len(result.error_message) < 400
    assert (suggestion or "") in result.error_message


def test_a_machine_without_a_time_zone_database_says_so(monkeypatch):
    monkeypatch.setattr(clock, "available_timezones", set)

    with pytest.raises(LookupError, match="no time zone database"):
        find_zone("Mars/Olympus")


@pytest.mark.parametrize(
    ("moment", "iso", "human"),
    [
        (
            datetime(2026, 11, 21, 15, 5, 9, 123456, ZoneInfo("Europe/Paris")),
            "2026-11-21T15:05:09+01:00",
            "Saturday, November 21, 2026 at 3:05 PM CET",
        ),
        (
            datetime(2026, 7, 1, 0, 0, tzinfo=ZoneInfo("Europe/Paris")),
            "2026-07-01T00:00:00+02:00",
            "Wednesday, July 1, 2026 at 12:00 AM CEST",
        ),
        (
            datetime(2026, 1, 5, 12, 30, tzinfo=ZoneInfo("America/Sao_Paulo")),
            "2026-01-05T12:30:00-03:00",
            "Monday, January 5, 2026 at 12:30 PM UTC-03:00",
        ),
        (
            datetime(2026, 1, 5, 11, 59, tzinfo=ZoneInfo("Asia/Kathmandu")),
            "2026-01-05T11:59:00+05:45",
            "Monday, January 5, 2026 at 11:59 AM UTC+05:45",
        ),
    ],
)
def test_both_formats(moment, iso, human):
    assert iso8601(moment) == iso
    assert human_readable(moment) == human


def test_the_human_readable_format_does_not_depend_on_the_locale():
    moment = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    before = locale.setlocale(locale.LC_TIME)
    for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C"):
        try:
            locale.setlocale(locale.LC_TIME, name)
        except locale.Error:
            continue
        break
    try:
        assert human_readable(moment) == "Monday, March 2, 2026 at 9:00 AM UTC"
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_the_manifest_lets_every_spelling_of_the_format_through():
    manifest = json.loads(MANIFEST.read_text())

    assert manifest["function"] == "oneclaw_core.builtin.clock:get_current_time"
    assert set(manifest["parameters"]["properties"]) == {"timezone", "format"}
    assert "enum" not in manifest["parameters"]["properties"]["format"]
