"""A snapshot of what a plugin registers: a change of what models are told becomes a change of a file."""

from __future__ import annotations

import difflib
import json
import os
from typing import TYPE_CHECKING, Any

from pytest_oneclaw.chosen_plugins import tested_plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from oneclaw_core.plugins.catalog import Catalog
    from pytest_oneclaw.home_under_test import HomeUnderTest

UPDATE_OPTION = "--oneclaw-update-snapshots"
_NO = ("", "0", "false", "no")


class DefinitionsSnapshot:
    """Compares what plugins register with a file beside the test; called with a plugin's name, or without.

    Args:
        home: where the plugins are loaded.
        folder: where the files lie.
        is_updating: write the files instead of comparing them.
        note: told which file was written.
        environ: says whether this is CI, where a missing file is not written.
    """

    def __init__(
        self,
        home: HomeUnderTest,
        folder: Path,
        *,
        is_updating: bool,
        note: Callable[[Path], None],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._home = home
        self._folder = folder
        self._is_updating = is_updating
        self._note = note
        self._is_ci = environ.get("CI", "").strip().lower() not in _NO

    def __call__(self, plugin: str | None = None) -> None:
        """Compare what a plugin registers with ``PLUGIN.definitions.json``.

        Args:
            plugin: its name; by default the only one that the test has chosen.

        Raises:
            AssertionError: it differs; the message shows how.
        """
        __tracebackhide__ = True
        catalog = self._home.app.catalog
        name = plugin if plugin is not None else self._only_plugin(catalog)
        path = self._folder / f"{name}.definitions.json"
        document = registered_by(catalog, name)
        before = path.read_text(encoding="utf-8") if path.is_file() else None
        if before is not None and _read(before) == document:
            return
        now = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        if self._is_updating or (before is None and not self._is_ci):
            path.write_text(now, encoding="utf-8")
            self._note(path)
            return
        how = f"pytest {UPDATE_OPTION}"
        if before is None:
            raise AssertionError(f"there is no {path}: write it with {how}, look at it, and commit it")
        lines = difflib.unified_diff(
            before.splitlines(), now.splitlines(), f"{path.name} (the snapshot)", "registered now", lineterm="", n=2
        )
        diff = "\n".join(lines)
        raise AssertionError(
            f"the plugin {name} does not register what {path.name} says. If that is meant: {how}\n{diff}"
        )

    def _only_plugin(self, catalog: Catalog) -> str:
        __tracebackhide__ = True
        names = [record.name for record in tested_plugins(catalog.plugins)]
        if len(names) != 1:
            raise AssertionError(
                f"say of which plugin, such as definitions_snapshot('acme'); loaded are: {', '.join(names) or 'none'}"
            )
        return names[0]


def registered_by(catalog: Catalog, plugin: str) -> dict[str, Any]:
    """Describe what a plugin registers, in its order.

    Raises:
        AssertionError: it is not loaded.
    """
    __tracebackhide__ = True
    record = next((each for each in catalog.plugins if each.name == plugin), None)
    if record is None:
        raise AssertionError(
            f"no plugin {plugin!r} is loaded; loaded are: {', '.join(each.name for each in catalog.plugins)}"
        )
    registry = catalog.registry
    groups, tools = [], []
    for name in record.groups:
        group = registry.get_group_definition(name)
        if group is not None:
            groups.append({"name": name, "display_name": group.display_name, "description": group.description})
    for name in record.tools:
        definition, source = registry.get_definition(name), registry.get_source_info(name)
        if definition is not None:
            tools.append(
                {
                    "name": name,
                    "group": source.group_name if source is not None else None,
                    "description": definition.description,
                    "parameters": definition.parameters,
                    "required_permissions": list(definition.required_permissions),
                    "timeout_seconds": definition.timeout_seconds,
                    **({"read_only": True} if definition.read_only else {}),
                    **({"idempotent": True} if definition.idempotent else {}),
                    **({} if definition.output_schema is None else {"output_schema": definition.output_schema}),
                }
            )
    return {
        "plugin": plugin,
        "groups": groups,
        "tools": tools,
        "providers": list(record.providers),
        "skills": list(record.skills),
    }


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
