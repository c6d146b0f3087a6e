"""Registrars: the entry made of each registration, and the problem reported for a wrong one."""

from pathlib import Path

import click
from pydantic import BaseModel

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult
from oneclaw_core.plugins.plugin import Plugin, PluginProblem, Registration
from oneclaw_core.plugins.registrars import (
    ChannelRegistrar,
    ChatCommandRegistrar,
    CheckRegistrar,
    CommandRegistrar,
    GroupRegistrar,
    ProviderRegistrar,
    RouteRegistrar,
    ServiceRegistrar,
    SettingsRegistrar,
    SkillRegistrar,
    StoreRegistrar,
    ToolRegistrar,
    TriggerRegistrar,
)
from oneclaw_core.tools.invoke import FunctionTarget
from oneclaw_core.tools.registry import ToolRegistry

PLACE = "acme.things:thing"
NAME_PATTERN = "[a-z][a-z0-9_-]{0,62}"
PARENTS = "agents, config, groups, keys, models, permissions, plugins, providers, serve, sessions, tools"
METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"


class Callable:
    async def __call__(self, context):
        """Stand in for a service that is an object."""


class Named:
    def __repr__(self):
        return "<thing>"


class Settings(BaseModel):
    token: str = ""


async def serve(context):
    """Stand in for a service."""


def plain(context):
    """Stand in for any function."""


@click.command(hidden=True)
def hidden():
    """Do something. In two sentences."""


def register(kind, call):
    entry = Plugin("acme")
    call(kind(entry, ToolRegistry()))
    return entry


SERVICE = {"help": "", "runs_in": ["serve"], "grace_seconds": 0}
ROUTE = {"methods": ["GET"], "is_public": False, "max_body_bytes": 1024 * 1024, "title": ""}
TRIGGER = {"help": "", "parameters": {}, "required": []}
SOURCE = {"starts": "call", "start_seconds": 30.0}
OPTION = {"parent": "serve", "help": "", "type": "string", "default": None}
REGISTERED = [
    (StoreRegistrar, lambda it: it("a.b-c+d", PLACE), "register_stores", "a.b-c+d", {}),
    (ServiceRegistrar, lambda it: it("thing", PLACE), "register_services", "thing", SERVICE),
    (
        ServiceRegistrar,
        lambda it: it(
            "thing",
            PLACE,
            help="Works.",
            runs_in=("serve", "chat"),
            grace_seconds=60,
            needs="token",
            find_task="acme:find",
        ),
        "register_services",
        "thing",
        {
            "help": "Works.",
            "runs_in": ["chat", "serve"],
            "grace_seconds": 60,
            "needs": "token",
            "find_task": "acme:find",
        },
    ),
    (ChannelRegistrar, lambda it: it("thing", PLACE), "register_channels", "thing", {"is_send_only": False}),
    (
        ChannelRegistrar,
        lambda it: it("thing", PLACE, is_send_only=True),
        "register_channels",
        "thing",
        {"is_send_only": True},
    ),
    (RouteRegistrar, lambda it: it("/hook/{name}", PLACE), "register_routes", "hook/{name}", ROUTE),
    (
        RouteRegistrar,
        lambda it: it(
            "", PLACE, methods=("POST", "GET"), is_public=True, max_body_bytes=32 * 1024 * 1024, title="Things"
        ),
        "register_routes",
        "",
        {"methods": ["GET", "POST"], "is_public": True, "max_body_bytes": 32 * 1024 * 1024, "title": "Things"},
    ),
    (
        RouteRegistrar,
        lambda it: it("x", PLACE, max_body_bytes=0),
        "register_routes",
        "x",
        ROUTE | {"max_body_bytes": 0},
    ),
    (TriggerRegistrar, lambda it: it("thing", PLACE), "register_triggers", "thing", TRIGGER),
    (
        TriggerRegistrar,
        lambda it: it(
            "thing",
            PLACE,
            help="Fires.",
            parameters={"b": "B.", "a": "A."},
            required=("b", "a"),
            set_up="acme:set_up",
            take_request="acme:take",
        ),
        "register_triggers",
        "thing",
        {
            "help": "Fires.",
            "parameters": {"b": "B.", "a": "A."},
            "required": ["a", "b"],
            "set_up": "acme:set_up",
            "take_request": "acme:take",
        },
    ),
    (CommandRegistrar, lambda it: it("thing", PLACE), "register_commands", "thing", {"parent": None, "help": ""}),
    (
        CommandRegistrar,
        lambda it: it("thing", PLACE, help="Do it.", parent="serve"),
        "register_commands",
        "serve thing",
        {"parent": "serve", "help": "Do it."},
    ),
    (CommandRegistrar, lambda it: it.option("--thing"), "register_commands", "serve --thing", OPTION),
    (ChatCommandRegistrar, lambda it: it("thing", PLACE), "register_chat_commands", "thing", {"help": ""}),
    (
        ChatCommandRegistrar,
        lambda it: it("thing", PLACE, help="Show.", is_private=True),
        "register_chat_commands",
        "thing",
        {"help": "Show.", "is_private": True},
    ),
    (CheckRegistrar, lambda it: it("thing", PLACE), "register_checks", "thing", {}),
    (CheckRegistrar, lambda it: it.skills("thing", PLACE), "register_checks", "thing", {"of": "register_skills"}),
    (SettingsRegistrar, lambda it: it(PLACE), "register_settings", "settings", {}),
    (
        SettingsRegistrar,
        lambda it: it(PLACE, keys={"token": "old_token"}),
        "register_settings",
        "settings",
        {"keys": {"token": "old_token"}},
    ),
    (ProviderRegistrar, lambda it: it("Any Wire!\n", PLACE), "register_providers", "Any Wire!\n", {}),
    (
        ProviderRegistrar,
        lambda it: it("wire", PLACE, price_vendor="vendor", is_local=True),
        "register_providers",
        "wire",
        {"price_vendor": "vendor", "is_local": True},
    ),
    (ToolRegistrar, lambda it: it.source("thing", PLACE), "register_tools.source", "thing", SOURCE),
    (
        ToolRegistrar,
        lambda it: it.source(
            "thing", PLACE, starts="open", start_seconds=3600, listing="acme:listing", listed_as="other_name"
        ),
        "register_tools.source",
        "thing",
        {"starts": "open", "start_seconds": 3600, "listed_as": "other_name", "listing": "acme:listing"},
    ),
]


def test_a_registration_is_noted_with_its_options():
    for kind, call, hook, name, options in REGISTERED:
        entry = register(kind, call)
        assert entry.problems == [], (kind, name)
        (registration,) = entry.registrations
        target = None if name == "serve --thing" else PLACE
        assert registration == Registration(hook, "acme", name, target, options)
        assert registration.value is None


def test_an_object_is_kept_beside_its_name():
    for target, place in ((serve, f"{__name__}:serve"), (Callable(), None)):
        (registration,) = register(ServiceRegistrar, lambda it, target=target: it("thing", target)).registrations
        assert (registration.target, registration.value) == (place, target)
    (registration,) = register(SettingsRegistrar, lambda it: it(Settings, keys={"token": "old"})).registrations
    assert (registration.name, registration.value) == ("settings", Settings)
    assert registration.options == {"keys": {"token": "old"}}


def test_a_preconfigured_provider_is_noted_with_what_is_given():
    entry = register(ProviderRegistrar, lambda it: it.preconfigured("acme"))
    entry_with_all = register(
        ProviderRegistrar,
        lambda it: it.preconfigured(
            "acme", type_name="wire", key_variable="KEY", base_url="https://a.example", base_url_variable="URL"
        ),
    )
    hook = "register_providers.preconfigured"
    nothing = {"type": "acme", "key_variable": None, "base_url": None, "base_url_variable": None}
    everything = {"type": "wire", "key_variable": "KEY", "base_url": "https://a.example", "base_url_variable": "URL"}
    assert entry.registrations == [Registration(hook, "acme", "acme", None, nothing)]
    assert entry_with_all.registrations == [Registration(hook, "acme", "acme", None, everything)]


def test_a_command_object_brings_its_own_help():
    long = click.Command("long", help="word " * 40)
    for command, help_text, expected, is_hidden in (
        (hidden, "", "Do something.", True),
        (hidden, "Mine.", "Mine.", True),
        (long, "", ("word " * 19).strip() + "...", False),
    ):

        def call(it, command=command, help_text=help_text):
            it("thing", command, help=help_text, parent="tools")

        (registration,) = register(CommandRegistrar, call).registrations
        assert registration.name == "tools thing"
        assert registration.value is command
        assert registration.options == {"parent": "tools", "help": expected, "is_hidden": is_hidden}


def test_the_type_of_an_option_is_noted_by_its_name():
    given = {str: ("a", "string"), int: (1, "integer"), float: (0.5, "number"), bool: (True, "boolean")}
    given[Path] = ("x", "path")
    for kind, (value, name) in given.items():

        def call(it, kind=kind, value=value):
            it.option("--thing", help="One.", type=kind, default=value)

        (registration,) = register(CommandRegistrar, call).registrations
        assert registration.options == {"parent": "serve", "help": "One.", "type": name, "default": value}


NAMES = {
    StoreRegistrar: ("Big", "[a-z][a-z0-9+.-]{0,62}"),
    ChannelRegistrar: ("a b", NAME_PATTERN),
    RouteRegistrar: ("a b", "[A-Za-z0-9_{][A-Za-z0-9_{}/.-]{0,254}|"),
    CheckRegistrar: (7, NAME_PATTERN),
}
RUNS_IN = "'thing' needs runs_in of 'serve' and 'chat', and grace_seconds from 0 to 60"
SOURCE_LIMITS = "the tool source 'thing' needs starts='call', 'turn' or 'open', and start_seconds from 0 to 3600"
NO_TARGET = "'no colon' names no object: write it as 'package.module:attribute'"
SERVICE_FAULTS = [{"runs_in": ("serve", "cron")}, {"runs_in": "chat"}, {"grace_seconds": 60.1}, {"grace_seconds": -1}]
BODY_FAULTS = [-1, 32 * 1024 * 1024 + 1, True, 1.5]
METHOD_FAULTS = ["GET", ("GET", "get"), ()]
SOURCE_FAULTS = [{"starts": "never"}, {"start_seconds": 0}, {"start_seconds": 3600.1}]
FAULTS = [
    *(
        (
            kind,
            lambda it, name=name: it(name, PLACE),
            f"the name {name!r} is invalid: it must match {pattern}",
            "use another name",
            "hooks.name",
        )
        for kind, (name, pattern) in NAMES.items()
    ),
    (ChannelRegistrar, lambda it: it("thing", "no colon"), NO_TARGET, "correct the name", "hooks.target"),
    (
        ChannelRegistrar,
        lambda it: it("thing", Named()),
        "<thing>, registered as 'thing', cannot be called",
        "register a function, a class or a name 'module:attribute'",
        "hooks.target",
    ),
    (
        ServiceRegistrar,
        lambda it: it("thing", Named),
        f"{Named!r} is not an async function",
        "write it with async def",
        "hooks.service",
    ),
    *(
        (ServiceRegistrar, lambda it, given=given: it("thing", PLACE, **given), RUNS_IN, "correct it", "hooks.options")
        for given in SERVICE_FAULTS
    ),
    *(
        (
            RouteRegistrar,
            lambda it, given=given: it("x", PLACE, max_body_bytes=given),
            f"max_body_bytes of 'x' must be 0 to {32 * 1024 * 1024}",
            "correct it",
            "hooks.options",
        )
        for given in BODY_FAULTS
    ),
    *(
        (
            RouteRegistrar,
            lambda it, given=given: it("x", PLACE, methods=given),
            f"methods of 'x' must be some of {METHODS}",
            "correct them",
            "hooks.options",
        )
        for given in METHOD_FAULTS
    ),
    *(
        (
            TriggerRegistrar,
            lambda it, given=given: it("thing", PLACE, parameters={"a": "A."}, required=given),
            "required of 'thing' must be names of its parameters",
            "correct them",
            "hooks.options",
        )
        for given in ("a", ("a", "b"))
    ),
    (
        CommandRegistrar,
        lambda it: it("thing", PLACE, parent="chat"),
        f"parent of 'thing' must be one of {PARENTS}, or left out",
        "correct it",
        "hooks.options",
    ),
    (
        CommandRegistrar,
        lambda it: it("thing", Named()),
        "<thing>, registered as 'thing', is not a click command",
        "decorate a function with @click.command()",
        "hooks.target",
    ),
    (
        CommandRegistrar,
        lambda it: it.option("--thing", type=list),
        "the type of the option '--thing' must be str, int, float, bool or pathlib.Path",
        "use one of them",
        "hooks.options",
    ),
    (
        CommandRegistrar,
        lambda it: it.option("--thing", default=[]),
        "the default of the option '--thing' must be a text, a number, True or False",
        "correct it",
        "hooks.options",
    ),
    (
        CommandRegistrar,
        lambda it: it.option("--thing", minimum=0, maximum=9),
        "the option '--thing' has a minimum and a maximum, but its type is not int or float",
        "leave the bounds out, or set the type",
        "hooks.options",
    ),
    (
        CommandRegistrar,
        lambda it: it.option("thing"),
        "the name 'thing' is invalid: it must match --[a-z][a-z0-9-]{0,61}",
        "use another name",
        "hooks.name",
    ),
    (
        SettingsRegistrar,
        lambda it: it(PLACE, keys={"a": "fine", "b": "Not fine"}),
        "the key 'Not fine' is not in snake_case",
        "use another key",
        "hooks.options",
    ),
    *(
        (
            ToolRegistrar,
            lambda it, given=given: it.source("thing", PLACE, **given),
            SOURCE_LIMITS,
            "correct it",
            "hooks.options",
        )
        for given in SOURCE_FAULTS
    ),
    (
        ToolRegistrar,
        lambda it: it.source("thing", PLACE, listed_as="Not snake"),
        "the tool source 'thing' has listed_as='Not snake', which is not in snake_case",
        "use another name",
        "hooks.options",
    ),
    (
        ToolRegistrar,
        lambda it: it.source("thing", PLACE, listing="no colon"),
        NO_TARGET,
        "correct the name",
        "hooks.target",
    ),
    (GroupRegistrar, lambda it: it(Named()), "<thing> is not a ToolGroupDefinition", "make one", "groups.not-a-group"),
    (
        SkillRegistrar,
        lambda it: it("text"),
        "'text' is not a folder",
        "pass a Path, or what importlib.resources.files gives",
        "skills.missing",
    ),
    (
        SkillRegistrar,
        lambda it: it(Path("/no/such")),
        "/no/such has no SKILL.md",
        "write one, and include it in the package",
        "skills.missing",
    ),
    (
        ProviderRegistrar,
        lambda it: it("", PLACE),
        "the name '' is invalid: it must match (?s).+",
        "use another name",
        "hooks.name",
    ),
]


def test_a_faulty_registration_is_reported_with_a_remedy_and_left_out():
    for kind, call, cause, remedy, check in FAULTS:
        entry = register(kind, call)
        assert entry.problems == [PluginProblem(kind.hook, cause, remedy, True, check)]
        assert entry.registrations == []


def test_the_first_of_two_registrations_stays():
    for kind, call, other, name in (
        (ChannelRegistrar, lambda it: it("thing", PLACE), lambda it: it("thing", serve), "thing"),
        (
            CommandRegistrar,
            lambda it: it("x", PLACE, parent="tools"),
            lambda it: it("x", hidden, parent="tools"),
            "tools x",
        ),
    ):
        entry = register(kind, lambda it, call=call, other=other: (call(it), other(it)))
        (registration,) = entry.registrations
        assert registration.target == PLACE
        cause = f"{name!r} is registered twice; the first one stays"
        assert entry.problems == [PluginProblem(kind.hook, cause, "register it once", True, "hooks.name")]
    both = register(ToolRegistrar, lambda it: (it.source("thing", PLACE), it._add("thing", PLACE)))
    assert [each.hook for each in both.registrations] == ["register_tools.source", "register_tools"]


def test_names_are_limited_in_length():
    for kind, longest in ((ChannelRegistrar, 63), (StoreRegistrar, 63), (RouteRegistrar, 255)):
        for length in (longest, longest + 1):
            entry = register(kind, lambda it, length=length: it("a" * length, PLACE))
            assert len(entry.problems) == length - longest


def test_a_skill_is_noted_once(tmp_path):
    (tmp_path / "SKILL.md").touch()
    entry = register(SkillRegistrar, lambda it: (it(tmp_path), it(tmp_path)))
    (registration,) = entry.registrations
    assert registration == Registration("register_skills", "acme", tmp_path.name, None, {"folder": str(tmp_path)})
    assert registration.value == tmp_path
    cause = f"{tmp_path} is registered twice"
    assert entry.problems == [PluginProblem("register_skills", cause, "do it once", False, "skills.twice")]


class PlainTool:
    def __init__(self, name, **attributes):
        self.definition = ToolDefinition(name, f"Does {name}.")
        vars(self).update(attributes)

    async def execute(self, arguments, context):
        return ToolResult.success("")


def test_a_tool_is_noted_with_its_traits():
    plain_tool = PlainTool("plain")
    rich = PlainTool(
        "_rich",
        group="mail",
        target=FunctionTarget("acme.tools", "run", "the manifest"),
    )
    vague = PlainTool("vague", target="text")
    entry = register(ToolRegistrar, lambda it: (it(plain_tool), it(rich), it(vague), it(rich, group="other")))
    assert entry.problems == []
    with_all = (rich.definition, "mail", "acme.tools:run", "the manifest")
    assert [(each.definition, each.group, each.target, each.options.get("origin")) for each in entry.registrations] == [
        (plain_tool.definition, None, None, None),
        with_all,
        (vague.definition, None, None, None),
        (rich.definition, "other", *with_all[2:]),
    ]
    assert [each.value for each in entry.registrations] == [plain_tool, rich, vague, rich]


def test_a_tool_with_an_unusual_name_is_a_warning():
    for name in ("getWeather", "a-b", "__a", "A"):
        entry = register(ToolRegistrar, lambda it, name=name: it(PlainTool(name)))
        cause = f"tool name {name!r} is not in snake_case"
        assert entry.problems == [
            PluginProblem("register_tools", cause, "rename the tool", False, "names.not-snake-case")
        ]
        assert [each.name for each in entry.registrations] == [name]


def test_something_that_is_no_tool_has_a_check_and_a_fault_within_a_tool_a_pointer():
    no_tool = register(ToolRegistrar, lambda it: it(Named()))
    bad_group = register(ToolRegistrar, lambda it: it(PlainTool("fine"), group="no good"))
    for entry, part, check in (
        (no_tool, "<thing> is not a tool", "hooks.not-a-tool"),
        (bad_group, "tool group name 'no good'", None),
    ):
        (problem,) = entry.problems
        assert (problem.where, problem.remedy, problem.is_error) == (
            "register_tools",
            "correct the tool's definition",
            True,
        )
        assert part in problem.cause
        assert (problem.check == "") == bool(problem.pointer)
        assert check is None or problem.check == check
        assert entry.registrations == []


def test_a_manifest_given_as_text_is_refused():
    entry = register(ToolRegistrar, lambda it: it.manifest("acme.json"))
    remedy = "give it as importlib.resources.files(__package__) / 'acme.json'"
    cause = "'acme.json' is a text, and no path in the package"
    assert entry.problems == [PluginProblem("manifest", cause, remedy, True, "manifests.unreadable")]
    assert entry.registrations == []


def test_a_manifest_is_noted_with_its_group_and_its_faults(tmp_path):
    path = tmp_path / "mail.json"
    path.write_text(
        '[{"_meta": true, "display_name": "Mail", "description": "Reads mail"},'
        '{"name": "read", "description": "Reads.", "function": "read_it"}, {"name": "no function"}]'
    )
    missing = tmp_path / "missing.json"
    entry = register(ToolRegistrar, lambda it: (it.manifest(path, module="acme.mail"), it.manifest(missing)))
    assert entry.manifests == [str(path), str(missing)]
    _, group, tool, _ = entry.registrations
    assert group.group_definition == ToolGroupDefinition("mail", "Mail", "Reads mail")
    assert (tool.definition.name, tool.group, tool.target) == ("read", "mail", "acme.mail:read_it")
    assert [(each.where, each.remedy, each.is_error) for each in entry.problems] == [
        ("manifest", "correct the manifest; its JSON Schema helps an editor", True)
    ] * len(entry.problems)
    assert [each.check for each in entry.problems] == [
        *[""] * (len(entry.problems) - 1),
        "manifests.unreadable",
    ]
    assert all(each.pointer for each in entry.problems[:-1])
    assert "missing.json" in entry.problems[-1].cause
