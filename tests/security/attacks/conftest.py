"""A machine for the attacks of one module, replaced after one that did harm."""

from __future__ import annotations

import pytest
from carriers import PLANTED, PlantedPlugin, clear_planted
from machine import Machine, Questions


class Machines:
    """Makes machines, one at a time."""

    def __init__(self, folders, plugins, *, trusts_project):
        self._folders = folders
        self._plugins = plugins
        self._trusts_project = trusts_project
        self._machine = None
        self._patch = None

    def current(self):
        """The machine, a new one if there is none."""
        if self._machine is None:
            self._patch = pytest.MonkeyPatch()
            root = self._folders.mktemp("machine")
            self._machine = Machine(root, self._patch, trusts_project=self._trusts_project, plugins=self._plugins)
            self._machine.received = PLANTED.received
        return self._machine

    def throw_away(self):
        """Close the machine."""
        if self._machine is not None:
            try:
                self._machine.close()
            finally:
                self._machine = None
                self._patch.undo()


@pytest.fixture(scope="module")
def trusts_project():
    """Whether the user has said that the start directory is to be trusted; by default nothing is decided."""
    return False


@pytest.fixture(scope="module")
def plugins():
    """More plugins than are installed."""
    return (PlantedPlugin(),)


@pytest.fixture(scope="module")
def machines(tmp_path_factory, trusts_project, plugins):
    made = Machines(tmp_path_factory, plugins, trusts_project=trusts_project)
    yield made
    made.throw_away()


@pytest.fixture
def attack(machines):
    """Run an attack: ``attack(carrier, orders, user=Questions())``; gives the harm."""

    def run(carrier, orders, *, has_user=True):
        machine = machines.current()
        task = carrier(machine, orders(machine))
        machine.forget()
        user = Questions(task.needs) if has_user else None
        try:
            machine.send(task.message, user, command=task.command)
            harm = machine.harm(task.leaves)
        except BaseException:
            machines.throw_away()
            raise
        clear_planted(machine)
        if harm.written or harm.kept:
            machines.throw_away()
        return harm, user

    return run
