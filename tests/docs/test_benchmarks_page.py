"""The page of benchmarks says what was measured, and its budgets are judged as they are written."""

import json
import os
import re

import pytest
from documentation_pages import ROOT

pytestmark = pytest.mark.one_python

PAGE = ROOT / "docs" / "benchmarks.md"


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)


def report_of(measures=("",), **tables):
    from benchmarks.results import Report, Row, Table

    report = Report("2 processors", {"llm": "0.36"}, "2026-11-21", rounds=1)
    for work, rows in tables.items():
        table = Table(work, work, "")
        for number, contestants in enumerate(rows):
            row = Row(f"row {number}", "s", number + 1, measures[number % len(measures)])
            for name, values in contestants.items():
                for value in values:
                    row.add(name, value)
            table.rows.append(row)
        report.tables.append(table)
    return report


def test_page_and_pictures_are_made_from_what_was_measured():
    from benchmarks.page import MEASURED, PICTURES, pictures, with_parts
    from benchmarks.results import Report

    report = Report.load(MEASURED)
    page = PAGE.read_text(encoding="utf-8")
    assert with_parts(page, report) == page, "run: python -m benchmarks.page"
    for name, picture in pictures(report).items():
        assert (PICTURES / name).read_text(encoding="utf-8") == picture, "run: python -m benchmarks.page"


def test_every_work_has_a_part_of_the_page():
    from benchmarks.work import WORKS

    parts = re.findall(r"<!-- begin: (\w+) -->", PAGE.read_text(encoding="utf-8"))
    assert {*parts} == {"machine", "budgets", "memory", *(work.name for work in WORKS)}


def test_what_was_measured_names_no_place_of_the_machine():
    from benchmarks.page import MEASURED

    assert not re.search(r"/(root|home|tmp|Users)\b", MEASURED.read_text(encoding="utf-8"))


def test_a_report_is_the_same_after_it_was_saved(tmp_path):
    from benchmarks.results import Report

    report = report_of(turn=[{"oneclaw": [0.004], "llm": [0.1, 0.2]}])
    report.tables[0].rows[0].reasons["pydantic-ai"] = "over 60 s"
    report.save(tmp_path / "table.json")
    assert Report.load(tmp_path / "table.json") == report
    assert json.loads((tmp_path / "table.json").read_text())["tables"][0]["rows"][0]["title"] == "row 0"


@pytest.mark.parametrize(
    ("tables", "words"),
    [
        ({"turn": [{"oneclaw": [0.0039]}, {"oneclaw": [0.004]}]}, "met"),
        ({"turn": [{"oneclaw": [0.002]}, {"oneclaw": [0.004]}]}, "**not met**"),
        ({"turn": [{"oneclaw": [0.006]}, {"oneclaw": [0.006]}]}, "**not met**"),
        ({"resume": [{"oneclaw": [0.002]}, {"oneclaw": [0.021]}]}, "met"),
        ({"resume": [{"oneclaw": [0.002]}, {"oneclaw": [0.023]}]}, "**not met**"),
        ({"start": [{"oneclaw": [0.2], "llm": [1.01]}], "measures": ("`tools list`",)}, "met"),
        ({"start": [{"oneclaw": [0.2], "llm": [0.99]}], "measures": ("`tools list`",)}, "**not met**"),
        ({"http_turn": [{"oneclaw": [0.005], "floor": [0.002]}]}, "met"),
        ({"http_turn": [{"oneclaw": [0.0051], "floor": [0.002]}]}, "**not met**"),
        ({"register": [{"oneclaw": [0.1]}, {"oneclaw": [0.51]}]}, "**not met**"),
    ],
)
def test_budgets_are_judged(tables, words):
    from benchmarks.report import budgets_text

    lines = budgets_text(report_of(**tables)).splitlines()[2:]
    (line,) = [line for line in lines if "not measured" not in line]
    assert line.rstrip("| ").endswith(words)


def test_a_budget_is_not_met_if_one_of_many_sessions_fails():
    from benchmarks.report import budgets_text

    report = report_of(http_sessions=[{"openai-agents": [0.1]}])
    (row,) = report.tables[0].rows
    row.size = 1_000
    row.reasons["oneclaw"] = "failed: 3 of 1000 turns failed"
    assert "3 of 1000 turns failed | **not met** |" in budgets_text(report)


def test_processor_time_may_not_double_with_the_sessions():
    from benchmarks.report import budgets_text

    report = report_of(("time of processors for a turn",), http_sessions=[{"oneclaw": [0.004]}, {"oneclaw": [0.0081]}])
    report.tables[0].rows[1].size = 256
    assert "2.02 times (4 ms and 8.1 ms) | **not met** |" in budgets_text(report)


def test_what_was_not_measured_is_not_left_from_an_earlier_run():
    from benchmarks.page import with_parts

    page = "<!-- begin: turn -->\n\nan old figure\n\n<!-- end -->\n"
    assert with_parts(page, report_of()) == "<!-- begin: turn -->\n\nNot measured.\n\n<!-- end -->\n"


def test_a_ratio_above_one_is_in_favour_of_oneclaw_whatever_is_better():
    from benchmarks.report import table_text

    report = report_of(turn=[{"oneclaw": [1.0, 3.0], "llm": [8.0], "floor": [0.5]}])
    assert "| row 0 | **2 s** | 0.25x (500 ms) | 4x (8 s) |" in table_text(report.tables[0])
    report.tables[0].rows[0].is_more_better = True
    assert "| row 0 | **2 s** | 4x (500 ms) | 0.25x (8 s) |" in table_text(report.tables[0])


def test_a_contestant_that_fails_leaves_its_cell_empty_and_says_why():
    from benchmarks.report import table_text

    report = report_of(turn=[{"oneclaw": [1.0]}])
    report.tables[0].rows[0].reasons |= {"llm": "failed: no module", "pydantic-ai": "over 60 s"}
    text = table_text(report.tables[0])
    assert "| row 0 | **1 s** | over 60 s |  |" in text
    assert "- llm, row 0: failed: no module" in text


def test_who_fails_or_is_too_slow_is_not_asked_again(monkeypatch):
    from benchmarks import measurement
    from benchmarks.running import Measured
    from benchmarks.work import Work

    asked = []

    def run_work(contestant, work, size, environ):
        asked.append((contestant, size))
        if contestant == "llm":
            return "over 60 s"
        if contestant == "openai-agents" and size == 10:
            return "failed: no module"
        return Measured({"": 1.0}, 50.0, 30.0 if contestant == "pydantic-ai" else 1.0, 1.0)

    monkeypatch.setattr(measurement, "run_work", run_work)
    work = Work("turn", "A turn", (10, 20), "tools")
    contestants = ("oneclaw", "llm", "openai-agents", "pydantic-ai", "workspace-mcp")
    measured = measurement.Measurement([work], contestants, surroundings=None)
    for _ in range(3):
        measured.measure_round()
    (table,) = measured.tables()
    assert [asked.count(("oneclaw", size)) for size in (10, 20)] == [3, 3]
    assert [asked.count(("llm", size)) for size in (10, 20)] == [1, 0]
    assert [asked.count(("openai-agents", size)) for size in (10, 20)] == [1, 3]
    assert [asked.count(("pydantic-ai", size)) for size in (10, 20)] == [1, 1]
    assert not [name for name, _ in asked if name == "workspace-mcp"]
    assert [row.reasons for row in table.rows] == [
        {"llm": "over 60 s", "openai-agents": "failed: no module"},
        {"llm": "over 60 s"},
    ]


def test_peers_that_are_not_installed_or_too_slow_for_a_size_leave_it_out(monkeypatch):
    from benchmarks import measurement
    from benchmarks.running import NOT_INSTALLED, Measured
    from benchmarks.work import Work

    def run_work(contestant, work, size, environ):
        return NOT_INSTALLED if contestant == "llm" else Measured({"": 1.0}, 50.0, 1.0, 1.0)

    monkeypatch.setattr(measurement, "run_work", run_work)
    work = Work("turn", "A turn", (10, 20), "tools", peers_up_to=10)
    measured = measurement.Measurement([work], ("oneclaw", "llm", "openai-agents"), surroundings=None)
    measured.measure_round()
    rows = measured.tables()[0].rows
    assert [sorted(row.rounds) for row in rows] == [["oneclaw", "openai-agents"], ["oneclaw"]]
    assert [row.reasons for row in rows] == [{}, {}]


@pytest.mark.long
def test_a_program_is_measured_to_its_end_or_given_up(monkeypatch):
    from benchmarks.running import run_program

    script = "import os, sys; print(os.environ['HOME']); sys.exit({})"
    done = run_program("oneclaw", ["python", "-c", script.format(0)])
    assert done.output.strip() not in ("", os.environ.get("HOME"))
    assert done.processor_seconds > 0
    assert done.peak_mb > 5  # at least as much as this process has, of which the program is a fork at first
    assert run_program("oneclaw", ["python", "-c", script.format("'no answer'")]) == "failed: no answer"
    assert run_program("oneclaw", ["python", "-c", "while True: pass"], longest_seconds=0.2) == "over 0.2 s"
    assert run_program("oneclaw", ["no-such-program"]) == "not installed"


def test_only_oneclaw_repeats_what_has_to_be_the_same_with_all_sizes(monkeypatch):
    from benchmarks import measurement
    from benchmarks.running import Measured
    from benchmarks.work import Work

    asked = []

    def run_work(contestant, work, size, environ):
        asked.append((contestant, size))
        return Measured({"": float(len(asked))}, 50.0, 1.0, 1.0)

    monkeypatch.setattr(measurement, "run_work", run_work)
    work = Work("turn", "A turn", (10, 20), "tools", own_repetitions=3)
    measured = measurement.Measurement([work], ("oneclaw", "llm"), surroundings=None)
    measured.measure_round()

    own = [("oneclaw", 10), ("oneclaw", 20)]
    assert asked == [("oneclaw", 10), ("llm", 10), ("oneclaw", 20), ("llm", 20), *own, *own]
    assert [row.figures() for row in measured.tables()[0].rows] == [{"oneclaw": 5, "llm": 2}, {"oneclaw": 6, "llm": 4}]
