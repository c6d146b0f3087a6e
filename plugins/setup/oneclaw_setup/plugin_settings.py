"""The settings that plugins want asked at set-up, and their checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from oneclaw_core import Health, OneClaw, OneClawError
from oneclaw_core.cli import print_text, printable_line, run_async, warn
from oneclaw_setup.asking import ask_key, confirm

if TYPE_CHECKING:
    from oneclaw_core import SettingState


async def _settings() -> tuple[SettingState, ...]:
    async with OneClaw.open() as claw:
        return await claw.configuration.settings.for_setup()


async def _set(state: SettingState, value: str) -> None:
    async with OneClaw.open() as claw:
        if not state.is_secret:
            await claw.configuration.settings.set(state.key, value)
            return
        assert state.plugin is not None, state.key
        context = await claw.plugins.context_of(state.plugin)
        await context.secrets.set(state.key.removeprefix(f"{state.plugin}."), value)


async def _problems() -> list[str]:
    async with OneClaw.open() as claw:
        checks = await claw.plugins.run_checks()
    found = [(each.registration.plugin, result) for each in checks for result in each.results]
    return [f"{plugin}: {result.message}" for plugin, result in found if result.status is not Health.OK]


def ask_settings() -> None:
    """Ask for the settings that plugins have for set-up; Enter keeps a value."""
    states = run_async(_settings())
    if not states or not confirm("Go through the settings of plugins?", default=False):
        return
    values = {state.key: state.value for state in states}
    for state in states:
        if state.source.startswith("environment"):
            print_text(f"{state.key} is set in the {state.source}")
        elif _is_asked(state, values):
            _ask(state, values)


def report_problems() -> None:
    """Run the checks of plugins, and say what is wrong."""
    problems = run_async(_problems())
    for each in problems:
        warn(printable_line(each))
    if problems:
        print_text("What to do about that: oneclaw doctor, or oneclaw doctor --fix")


def _is_asked(state: SettingState, values: dict[str, object]) -> bool:
    return all(values.get(f"{state.plugin}.{name}") in wanted for name, wanted in state.setup_condition.items())


def _ask(state: SettingState, values: dict[str, object]) -> None:
    print_text(f"{state.key}: {printable_line(state.description)}")
    while True:
        if state.is_secret:
            typed = ask_key(f"{state.key}, Enter to leave it as it is") or ""
        else:
            typed = click.prompt("Value", default=_written(state.value), err=True)
        if typed in ("", _written(state.value)):
            return
        try:
            run_async(_set(state, typed))
        except OneClawError as error:
            warn(str(error))
            continue
        values[state.key] = typed
        return


def _written(value: object) -> str:
    return "" if value is None else str(value)
