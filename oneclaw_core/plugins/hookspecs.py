"""The plugin contract: what a plugin may implement, a function a hook.

A plugin is an installed package with an entry point in the group ``oneclaw`` that names a module (or any object) with
functions of these names, each marked by :data:`hookimpl`. It implements the hooks it needs and takes the arguments it
uses; hooks can gain arguments without breaking it. What is to go is marked here, by the ``warn_on_impl`` and
``warn_on_impl_args`` of :data:`hookspec`, for at least one minor version before it goes. Plugins are loaded one at a
time, built-in tools first, then by name; what a plugin registers is kept under its name, and what goes wrong in it
harms no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from oneclaw_core.plugins.registrars import (
        CommandRegistrar,
        GroupRegistrar,
        ProviderRegistrar,
        SkillRegistrar,
        ToolRegistrar,
        WorkerRegistrar,
    )

CONTRACT_VERSION = 1

hookspec = pluggy.HookspecMarker("oneclaw")
hookimpl = pluggy.HookimplMarker("oneclaw")


@hookspec
def register_tools(register: ToolRegistrar) -> None:
    """Register tools; called once when the program starts.

    ``register(tool)`` takes a function decorated with ``@tool``, or a ``Tool`` object; ``register(tool,
    group="name")`` puts it into a tool group. ``register.manifest(path)`` takes a JSON manifest.
    """


@hookspec
def register_groups(register: GroupRegistrar) -> None:
    """Register the metadata of tool groups; called once, before ``register_tools``.

    ``register(ToolGroupDefinition(name, display_name, description))``. A group without metadata, here or in a
    manifest's ``_meta`` entry, gets generated ones. ``permissions={"tables.delete": "delete tables for good"}`` says
    what permissions of the plugin's own mean to the users who are asked for them.
    """


@hookspec
def register_providers(register: ProviderRegistrar) -> None:
    """Register provider types, that is wire formats; called once.

    ``register("type_name", factory)``, where ``factory(config: ProviderConfig)`` makes a ``Provider``.
    """


@hookspec
def register_skills(register: SkillRegistrar) -> None:
    """Register skills, that is instructions which a model loads on demand; called once.

    ``register(folder)`` takes a folder with a ``SKILL.md`` in the Agent Skills format, such as
    ``importlib.resources.files(__package__) / "skills" / "pdf-report"``.
    """


@hookspec
def register_commands(cli: CommandRegistrar) -> None:
    """Add commands to the ``oneclaw`` command line; called when a command that is not built in is asked for, or
    ``oneclaw --help``.

    ``cli`` is used like a ``click.Group``: ``@cli.command()``, ``@cli.group()``, ``cli.add_command(command)``.
    """


@hookspec
def register_workers(register: WorkerRegistrar) -> None:
    """Register what works in the background while ``oneclaw chat`` is open in a terminal; called when it is opened.

    ``register("name", work)``, where ``work(host: WorkerHost)`` is an async function. It runs until the chat ends,
    which cancels it.
    """
