"""Skip tests whose program is not on this machine, and count at the end what that left out.

A test says ``@pytest.mark.needs("git")``. With ``ONECLAW_TESTS_NEED="git bubblewrap"`` in the environment, such tests
fail where the program is missing. With ``ONECLAW_TESTS_BARE=1``, the tests do not find the programs in ``HIDDEN``, as
on a machine that has only Python.
"""

import os
import shutil
from collections import Counter
from functools import cache

import pytest

IS_BARE = os.environ.get("ONECLAW_TESTS_BARE", "") not in ("", "0")
# Each program by the names of its file.
PROGRAMS = {
    "chromium": ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
    "bubblewrap": ("bwrap",),
    "npm": ("npm", "npx", "node"),
    **{name: (name,) for name in ("curl", "gcc", "git", "make", "systemd-analyze")},
}
HIDDEN = frozenset(name for names in PROGRAMS.values() for name in names)


def hide_programs():
    """Let this process find none of the programs; later calls do nothing."""
    which = shutil.which
    if not IS_BARE or which.__module__ == __name__:
        return

    def which_on_a_bare_machine(name, *arguments, **options):
        return None if os.path.basename(name) in HIDDEN else which(name, *arguments, **options)  # noqa: PTH119

    shutil.which = which_on_a_bare_machine


@cache
def is_here(program):
    """Return True if a program can be used here."""
    if program == "sandbox":
        from oneclaw_core.process import choose_sandbox

        return choose_sandbox().backend is not None
    if program == "bubblewrap":  # it may be installed and not permitted
        from oneclaw_core.process import choose_sandbox

        return choose_sandbox().name == "bubblewrap"
    return any(map(shutil.which, PROGRAMS.get(program, (program,))))


def require(program):
    """Skip the running test if a program is missing; fail it if ``ONECLAW_TESTS_NEED`` names the program."""
    if not is_here(program):
        is_needed = program in os.environ.get("ONECLAW_TESTS_NEED", "").split()
        (pytest.fail if is_needed else pytest.skip)(f"needs {program}")


def pytest_configure(config):
    config.addinivalue_line("markers", "needs(*programs): is skipped where one of the programs is missing")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        for program in mark.args:
            require(program)


def pytest_terminal_summary(terminalreporter):
    reports = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports if report.longrepr)
    if reasons:
        terminalreporter.section("left out")
    for reason, count in sorted(reasons.items()):
        terminalreporter.line(f"{count} {'test' if count == 1 else 'tests'}: {reason}")
