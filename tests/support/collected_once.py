"""Share tests among processes that are forked after all tests have been collected: the option ``--processes``.

Collecting, with the imports that it needs, takes ten seconds, and each process of pytest-xdist does it anew. With
``--import-first`` large libraries that only tests import, each process for itself, are also there before the fork.
"""

import os
import shutil
import tempfile
import warnings
from contextlib import suppress
from importlib import import_module
from itertools import groupby
from multiprocessing import connection, get_context

import pytest

# Tests of a file stay together as far as that, for what they share.
_MOST_TESTS = 24


def pytest_addoption(parser):
    """Add the options."""
    parser.addoption("--processes", type=int, default=0, help="share the tests among so many forked processes")
    parser.addoption("--import-first", default="", help="modules to import before tests are collected, with commas")


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session):
    """Import what was asked for; what libraries warn of then is no fault of a test."""
    with warnings.catch_warnings(action="ignore"):
        for module in filter(None, session.config.option.import_first.split(",")):
            import_module(module)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    """Run the tests in forked processes, if they were asked for."""
    count = session.config.option.processes
    if not count or session.config.option.collectonly or session.testsfailed:
        return None
    # No folder of another process: this one makes the folder of all.
    session.config._tmp_path_factory.getbasetemp()
    portions = _portions(session.items)
    workers = {}
    context = get_context("fork")
    for number in range(min(count, len(portions))):
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_work, args=(session, number, theirs, [*workers, ours]), name=f"tests-{number}"
        )
        process.start()
        theirs.close()
        workers[ours] = _Worker(process, session, portions)
    while workers:
        for ready in connection.wait(workers):
            if not workers[ready].hear(ready):
                workers.pop(ready).end(ready)
    if portions and not session.shouldfail and not session.shouldstop:
        pytest.exit("no process is left to run the other tests", returncode=1)
    if session.shouldfail:
        raise session.Failed(session.shouldfail)
    if session.shouldstop:
        raise session.Interrupted(session.shouldstop)
    return True


def _portions(items):
    """Give the numbers of the tests that are run together, those of the last file first."""
    portions = []
    for _, numbers in groupby(range(len(items)), lambda number: items[number].path):
        together = list(numbers)
        portions += [together[first : first + _MOST_TESTS] for first in range(0, len(together), _MOST_TESTS)]
    return portions[::-1]


class _Worker:
    """One of the processes, as the one that has collected sees it."""

    def __init__(self, process, session, portions):
        self.process = process
        self.session = session
        self.portions = portions
        self.awaited = []

    def hear(self, link):
        """Take one message; return ``False`` after the last."""
        try:
            done = link.recv()
        except (EOFError, OSError):  # also of one that ended in the middle of a message
            return False
        config = self.session.config
        if done is not None:
            nodeid, reports = done
            self.awaited.remove(nodeid)
            for data in reports:
                report = config.hook.pytest_report_from_serializable(config=config, data=data)
                config.hook.pytest_runtest_logreport(report=report)
            return True
        goes_on = self.portions and not self.session.shouldfail and not self.session.shouldstop
        portion = self.portions.pop() if goes_on else []
        self.awaited += [self.session.items[number].nodeid for number in portion]
        with suppress(ConnectionError):
            link.send(portion)
        return True

    def end(self, link):
        """Report what it has not run as failed."""
        link.close()
        self.process.join()
        if not self.process.exitcode and not self.awaited:
            return
        message = f"the process that runs the tests ended with the status {self.process.exitcode}"
        for nodeid in self.awaited or [self.session.nodeid]:
            report = pytest.TestReport(nodeid, (nodeid, None, nodeid), {}, "failed", message, "call")
            self.session.config.hook.pytest_runtest_logreport(report=report)


def _work(session, number, link, links_of_others):
    """Run tests in a forked process."""
    for each in links_of_others:
        each.close()
    config = session.config
    _become_independent(config, number)
    config.pluginmanager.register(_Sender(config, link))
    try:
        numbers = _next_portion(link)
        while numbers:
            item = session.items[numbers.pop(0)]
            numbers = numbers or _next_portion(link)
            config.hook.pytest_runtest_protocol(item=item, nextitem=session.items[numbers[0]] if numbers else None)
        config._ensure_unconfigure()
    except BaseException:
        config.pluginmanager.getplugin("capturemanager").stop_global_capturing()  # so that the reason is seen
        raise


def _next_portion(link):
    link.send(None)
    return link.recv()


def _become_independent(config, number):
    """Share no file and no folder with the other processes."""
    manager = config.pluginmanager
    manager.unregister(name="terminalreporter")
    capture = manager.getplugin("capturemanager")
    capture.stop_global_capturing()
    capture.start_global_capturing()
    folders = config._tmp_path_factory
    folders._basetemp = folders.getbasetemp() / f"process-{number}"
    folders._basetemp.mkdir(mode=0o700)
    cache = tempfile.mkdtemp(prefix="cache-", dir=folders._basetemp)
    os.environ["XDG_CACHE_HOME"] = shutil.copytree(os.environ["XDG_CACHE_HOME"], cache, dirs_exist_ok=True)


class _Sender:
    """The plugin that hands on what came of each test, at its end."""

    def __init__(self, config, link):
        self._config = config
        self._link = link
        self._reports = []

    def pytest_runtest_logreport(self, report):
        # Of a test whose preparation and cleaning up went well, only what is between them is shown.
        if report.when == "call" or not report.passed or self._config.option.durations is not None:
            data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
            self._reports.append(data)

    def pytest_runtest_logfinish(self, nodeid):
        self._link.send((nodeid, self._reports))
        self._reports = []
