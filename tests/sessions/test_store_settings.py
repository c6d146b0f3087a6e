from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from histories import opened

from oneclaw_core.errors import SettingsError, StoreDamagedError, UsageError
from oneclaw_core.sessions.settings import ToolStates

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_settings_keep_any_json_value(tmp_path: Path) -> None:
    values: dict[str, Any] = {"a": None, "b": [1, 2.5, "ü"], "c": {"d": False}, "e": "text", "f": 0}

    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store.settings() == {}
            for key in reversed(values):
                await store.set_setting(key, values[key])
            await store.set_setting("e", "other")
            await store.set_setting("e", "text")
        async with opened(tmp_path) as store:
            found = await store.settings()
            assert found == values
            assert list(found) == list(values)
            assert await store.remove_setting("a") is True
            assert await store.remove_setting("a") is False
            assert "a" not in await store.settings()

    asyncio.run(main())


def test_no_change_of_a_setting_is_lost(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store, opened(tmp_path) as other:

            def add(name: str) -> Callable[[Any], list[str]]:
                return lambda before: [*(before or []), name]

            stores = [store, other] * 10
            before = await asyncio.gather(
                *(each.change_setting("names", add(str(number))) for number, each in enumerate(stores))
            )
            assert before.count(None) == 1
            assert sorted((await store.settings())["names"], key=int) == [str(number) for number in range(20)]
            await other.change_setting("names", lambda names: None)
            assert await store.settings() == {}

    asyncio.run(main())


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}])
def test_a_value_that_json_cannot_hold_is_refused(tmp_path: Path, value: object) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", 1)
            with pytest.raises(SettingsError, match="'key' must be what JSON can hold"):
                await store.set_setting("key", value)
            assert await store.settings() == {"key": 1}

    asyncio.run(main())


def test_a_damaged_setting_is_reported(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_setting("key", 1)
            await store._database.write(lambda it: it.execute("UPDATE settings SET value = '{'").close())
            with pytest.raises(StoreDamagedError, match=r"damaged setting \(key\)"):
                await store.settings()

    asyncio.run(main())


def test_decisions_on_permissions_are_remembered_changed_and_forgotten(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            await store.set_permission("network.private", "grant")
            await store.set_permission("files.write", "grant")
            await store.set_permission("files.write", "deny")
            assert await store.permissions() == {"files.write": "deny", "network.private": "grant"}
            assert (await store.load_turn("0" * 32, 0)).permissions == await store.permissions()
            with pytest.raises(UsageError, match="'grant' or 'deny', not 'perhaps'"):
                await store.set_permission("files.write", "perhaps")  # type: ignore[arg-type]
            assert await store.remove_permission("files.write") is True
            assert await store.remove_permission("files.write") is False
            assert await store.reset_permissions() == 1
            assert await store.permissions() == {}

    asyncio.run(main())


def test_tools_and_groups_are_switched_off_and_on(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path) as store:
            assert await store.tool_states() == ToolStates()
            await store.set_tool_enabled("tool", "mail", False)
            await store.set_tool_enabled("group", "mail", False)
            await store.set_tool_enabled("tool", "other", False)
            await store.set_tool_enabled("tool", "other", True)
            expected = ToolStates(frozenset({"mail"}), frozenset({"mail"}))
            assert await store.tool_states() == expected
            assert (await store.load_turn("0" * 32, 0)).tool_states == expected
            await store.set_tool_enabled("tool", "mail", True)
            assert await store.tool_states() == ToolStates(frozenset(), frozenset({"mail"}))
            with pytest.raises(UsageError, match="not 'plugin'"):
                await store.set_tool_enabled("plugin", "mail", False)  # type: ignore[arg-type]

    asyncio.run(main())
