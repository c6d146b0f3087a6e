"""Entries of plugins merged into one catalogue: the first of two with one name stays, and the second is reported."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from oneclaw_core import ToolDefinition, ToolGroupDefinition, ToolResult, ToolSourceType
from oneclaw_core.errors import PluginError
from oneclaw_core.installation.skill_checks import report_skill_problems
from oneclaw_core.plugins.catalog import Catalog
from oneclaw_core.plugins.first_use import LazyTool
from oneclaw_core.plugins.plugin import Loaded, Plugin, PluginProblem, PluginSkill, Registration
from oneclaw_core.providers.known import PreconfiguredProvider
from oneclaw_core.tool_sources.published_tools import add_program_tools
from oneclaw_core.tools import ToolBehaviour


class PlainTool:
    def __init__(self, name, **attributes):
        self.definition = ToolDefinition(name, f"Does {name}.")
        vars(self).update(attributes)

    async def execute(self, arguments, context):
        return ToolResult.success("done")


def entry(*tools, group=None, groups=(), registrations=(), **parts):
    """Describe what a plugin registers: tools and groups by rows, and what else is known of it."""
    definitions = [PlainTool(each).definition for each in tools]
    options = {"group": group} if group else {}
    rows = [
        *(Registration("register_groups", "acme", each.name, None, options_of(each)) for each in groups),
        *(Registration("register_tools", "acme", each.name, None, options, definition=each) for each in definitions),
        *registrations,
    ]
    return {"registrations": rows, **parts}


def options_of(group):
    return {"display_name": group.display_name, "description": group.description, "permissions": group.permissions}


def record(name="acme", **options):
    return Plugin(name, "acme", f"{name}-tools", "1.2", **options)


def merged(*pairs):
    catalog = Catalog()
    for entry_of, plugin in pairs:
        for name, value in entry_of.items():
            setattr(plugin, name, [*getattr(plugin, name), *value] if name in ("registrations", "problems") else value)
        catalog.plugins.append(plugin)
        catalog.add(plugin)
    catalog.complete()
    return catalog


def described(name, display_name="Mail", description="Mails.", **permissions):
    return ToolGroupDefinition(name, display_name, description, permissions=permissions.get("permissions", {}))


def warning(where, cause, remedy, check):
    return PluginProblem(where, cause, remedy, False, check)


def test_everything_of_an_entry_is_attributed_to_its_plugin(tmp_path):
    given, others = record(), [PluginProblem("import", "odd", "look", False)]
    plugin = entry(
        "send",
        group="mail",
        groups=[described("mail")],
        problems=others,
        import_ms=7.0,
        registrations=[
            Registration("register_tools.manifest", "acme", "/acme.json", None),
            Registration("register_checks", "acme", "look", "acme:look"),
            Registration("register_skills", "acme", "report", None, {"folder": str(tmp_path)}),
            Registration("register_skills", "acme", "other", None, {"folder": "/x"}, Path("/other")),
        ],
    )
    catalog = merged((plugin, given))
    assert (given.tools, given.groups, given.manifests, given.import_ms) == (["send"], ["mail"], ["/acme.json"], 7.0)
    assert (given.problems, given.skills, given.providers) == (others, ["report", "other"], [])
    assert [each.name for each in given.registrations] == ["mail", "send", "/acme.json", "look", "report", "other"]
    assert catalog.skills == [PluginSkill(tmp_path, given), PluginSkill(Path("/other"), given)]
    source = catalog.registry.get_source_info("send")
    assert (source.type, source.group_name, source.plugin, source.distribution) == (
        *(ToolSourceType.TOOL_GROUP, "mail", "acme", "acme-tools 1.2"),
    )


def test_tools_know_where_they_come_from():
    for name, group, kind in (
        ("builtin", None, ToolSourceType.BUILTIN),
        ("builtin", "mail", ToolSourceType.BUILTIN),
        ("acme", None, ToolSourceType.PLUGIN),
        ("acme", "mail", ToolSourceType.TOOL_GROUP),
    ):
        catalog = merged((entry("send", group=group), record(name)))
        assert catalog.registry.get_source_info("send").type is kind


def test_providers_are_known_with_what_is_said_of_them():
    def provider(name, **options):
        return Registration("register_providers", "acme", name, f"acme:{name}", options)

    def preconfigured(name, url):
        options = {"type": "wire", "key_variable": None, "base_url": url, "base_url_variable": None}
        return Registration("register_providers.preconfigured", "acme", name, None, options)

    value = object()
    given = Registration("register_providers", "acme", "given", None, {}, value)
    first, second = record(), record("second")
    catalog = merged(
        (
            entry(
                registrations=[
                    provider("wire", price_vendor="vendor", is_local=True),
                    given,
                    provider("openai"),
                    preconfigured("wired", "first"),
                    preconfigured("anthropic", None),
                ],
            ),
            first,
        ),
        (entry(registrations=[provider("wire"), preconfigured("wired", "second")]), second),
    )
    assert (list(catalog.provider_types), catalog.provider_types["given"]) == (["openai", "wire", "given"], value)
    known = catalog.known_providers
    assert (known.price_vendors, known.local_types) == ({"wire": "vendor"}, {"wire"})
    assert list(known.preconfigured) == ["anthropic", "wired"]
    assert known.preconfigured["wired"] == PreconfiguredProvider("wired", "wire", None, "first", None)
    assert (first.providers, second.providers, first.problems) == (["wire", "given", "openai"], [], [])
    assert second.problems == [
        PluginProblem(
            "register_providers",
            "the provider type 'wire' is taken; the first one stays",
            "use another name",
            True,
            "names.provider-taken",
        )
    ]


def test_a_provider_is_imported_when_it_is_needed():
    loaded = []

    def load(target):
        loaded.append(target)
        return lambda config: f"provider of {config}"

    registration = Registration("register_providers", "acme", "wire", "acme:wire")
    catalog = merged((entry(registrations=[registration]), record(importer=load)))
    factory = catalog.provider_types["wire"]
    assert loaded == []
    assert factory("config") == "provider of config"
    assert loaded == ["acme:wire"]


def test_a_tool_whose_name_is_taken_is_left_out():
    second = record("second")
    catalog = merged((entry("send"), record()), (entry("send", "other"), second))
    assert second.tools == ["other"]
    (problem,) = second.problems
    assert problem.cause == (
        "a tool named 'send' is registered already, by acme-tools 1.2; the first one stays: rename the other"
    )
    assert (problem.where, problem.remedy, problem.is_error, problem.check) == (
        *("register_tools", "rename the tool, or uninstall one of the two packages", True, "names.taken"),
    )
    assert catalog.registry.get_source_info("send").plugin == "acme"


def test_a_group_that_is_declared_already_keeps_its_text():
    for other, is_told in (
        (described("mail"), False),
        (described("mail", "Post"), True),
        (described("mail", description="Posts."), True),
    ):
        first, second = record(), record("second")
        merged((entry(groups=[described("mail")]), first), (entry(groups=[other]), second))
        assert (first.groups, second.groups, first.problems) == (["mail"], [], [])
        assert (
            second.problems
            == [
                warning(
                    "register_groups",
                    "the tool group 'mail' is declared already, with another text; the first one stays, and tools "
                    "of both belong to it",
                    "use another group name, or the same display name and description",
                    "groups.taken",
                )
            ]
            * is_told
        )


def test_tools_that_join_the_group_of_another_plugin_are_told():
    for count, told in (
        (1, "1 tool of b-tools 1.2 (t0) joined"),
        (5, "5 tools of b-tools 1.2 (t0, t1, t2, t3, t4) joined"),
        (6, "6 tools of b-tools 1.2 (t0, t1, t2, t3, t4, ...) joined"),
    ):
        owner, joining = record(), record("b")
        names = [f"t{number}" for number in range(count)]
        merged(
            (entry("own", group="mail", groups=[described("mail")]), owner),
            (entry("alone"), record("c")),
            (entry(*names, group="mail"), joining),
        )
        assert owner.problems == []
        assert joining.problems == [
            warning(
                "register_tools",
                f"{told} the tool group 'mail' of acme-tools 1.2",
                "if you did not expect that: oneclaw plugins disable b",
                "groups.joined",
            )
        ]
    owner, joining = Plugin("acme"), Plugin("b")
    merged((entry(groups=[described("mail")]), owner), (entry("x", group="mail"), joining))
    assert joining.problems[0].cause == "1 tool of b (x) joined the tool group 'mail' of acme"


def test_what_groups_say_about_permissions_is_looked_at():
    own = "the tool group 'mail' says what 'network' means, which is OneClaw's own; this is ignored"
    ignored = (
        "it says what 'post.send' means, which none of its tools declares and none of its groups is named after; this "
        "is ignored, but for its own tools"
    )
    from oneclaw_core.types.permissions import KNOWN_PERMISSIONS

    known = sorted(KNOWN_PERMISSIONS)[0]
    given = record()
    permissions = {known: "anything", "mail.send": "send mail", "post.send": "send post"}
    merged((entry("send", group="mail", groups=[described("mail", permissions=permissions)]), given))
    assert given.problems == [
        warning(
            "register_groups",
            own.replace("network", known),
            "leave it out, or explain a permission of your own",
            "permissions.not-own",
        ),
        warning(
            "register_groups",
            ignored,
            "declare it in required_permissions of the tool that needs it, or begin it with the name of a group",
            "permissions.not-declared",
        ),
    ]


def test_another_meaning_of_a_permission_is_reported():
    def group(name, meaning):
        return described(name, permissions={"mail.send": meaning})

    first, second = record(), record("second")
    merged(
        (
            entry(
                "send",
                group="mail",
                groups=[group("mail", "send mail"), group("mail2", "send"), group("m3", "send mail")],
            ),
            first,
        ),
        (entry(groups=[group("mail4", "write")]), second),
    )
    remedy, check = "use another permission, or the same words", "permissions.meaning-taken"
    assert first.problems == [
        warning(
            "register_groups",
            "the tool group 'mail2' says what 'mail.send' means, and another group says something else; the first one "
            "stays",
            remedy,
            check,
        )
    ]
    assert [each for each in second.problems if each.check == check] == [
        warning(
            "register_groups",
            "the tool group 'mail4' says what 'mail.send' means, and the plugin 'acme' says something else; each is "
            "believed for its own tools",
            remedy,
            check,
        )
    ]


def test_a_registration_bears_the_name_of_its_record():
    given = record("acme@other")
    registration = Registration("register_checks", "acme", "look", "acme:look")
    merged((entry(registrations=[registration]), given))
    assert [each.plugin for each in given.registrations] == ["acme@other"]


def test_why_a_plugin_is_absent_is_known():
    problem, note = PluginProblem("import", "it broke", "fix it"), PluginProblem("import", "odd", "look", False)
    records = [
        record("off", is_disabled=True),
        record("broken", problems=[note, problem]),
        record("half", problems=[problem], tools=["x"]),
        record("fine"),
    ]
    catalog = merged(*((entry(), each) for each in records))
    assert catalog.absent_plugins == {
        "off": "is disabled: enable it with: oneclaw plugins enable off",
        "broken": "does not work: it broke; fix it",
    }
    assert catalog.registry.absent_plugins == catalog.absent_plugins


def test_tools_of_a_program_are_listed_under_its_name():
    catalog = Catalog()
    add_program_tools(catalog, [PlainTool("one"), PlainTool("two", group="own")], None)
    add_program_tools(catalog, [PlainTool("three"), PlainTool("four", group="own")], "named")
    add_program_tools(catalog, [PlainTool("five")], described("made"))
    (found,) = catalog.plugins
    assert (found.name, found.target, found.has_own_loop) == ("program", "the embedding program", False)
    assert found.tools == ["one", "two", "three", "four", "five"]
    assert catalog.registry.get_tool_groups() == {"own": ["two"], "named": ["three", "four"], "made": ["five"]}
    sources = [catalog.registry.get_source_info(each) for each in found.tools]
    assert [(each.type.value, each.group_name, each.plugin) for each in sources] == [
        ("plugin", None, "program"),
        ("tool_group", "own", "program"),
        *[("tool_group", "named", "program")] * 2,
        ("tool_group", "made", "program"),
    ]
    groups = {name: catalog.registry.get_group_definition(name) for name in ("own", "named", "made")}
    assert [each.display_name for each in groups.values()] == ["Own", "Named", "Mail"]
    assert groups["own"].description == "Tools from own group: two"
    assert groups["named"].description == "Tools from named group: three"


def checking(function, name="look", of="register_skills", hook="register_checks"):
    registration = Registration(hook, "checker", name, None, {"of": of} if of else {}, function)
    return record("checker", registrations=[registration])


def test_skills_are_checked_and_problems_go_to_their_plugin():
    problem = PluginProblem("skills", "no title", "add one", False)
    calls = []

    def check(folder, registry):
        calls.append((folder, registry))
        return [problem, "no problem"]

    owner, checker = record(), checking(check)
    others = [checking(None, of=None), checking(None, of="other"), checking(None, hook="other")]
    catalog = Catalog(plugins=[owner, *others, checker], skills=[PluginSkill(Path("/skill"), owner)])
    report_skill_problems(catalog)
    report_skill_problems(catalog, is_thorough=True)
    report_skill_problems(catalog, [])
    assert calls == [(Path("/skill"), None), (Path("/skill"), catalog.registry)]
    assert (owner.problems, checker.problems) == ([problem], [])
    report_skill_problems(catalog, [PluginSkill(Path("/other"), owner)])
    assert calls[2:] == [(Path("/other"), None)]


def test_a_check_of_skills_that_fails_is_reported_to_its_plugin():
    def broken(folder, registry):
        raise ValueError("bad")

    def refusing(folder, registry):
        raise PluginError("cannot be used")

    for function, cause, remedy in (
        (broken, "the check look failed: ValueError: bad", "report it to the plugin's author"),
        (refusing, "cannot be used", "upgrade or disable it"),
    ):
        owner, checker = record(), checking(function)
        report_skill_problems(Catalog(plugins=[owner, checker], skills=[PluginSkill(Path("/skill"), owner)]))
        assert (owner.problems, checker.problems) == ([], [PluginProblem("register_checks", cause, remedy)])


def lazy_tool(definition, plugin, **parts):
    return LazyTool(
        Registration("register_tools", "acme", definition.name, definition=definition, **parts), definition, plugin
    )


def test_a_lazy_tool_is_known_by_its_registration():
    behaviour = ToolBehaviour(asks_itself=True, is_poll=True, isolation="process")
    definition = replace(PlainTool("send").definition, behaviour=behaviour)
    lazy = lazy_tool(definition, record(), target="a.b:c", options={"origin": "the manifest"})
    assert lazy.definition is definition
    loaded = asyncio.run(lazy._load())
    assert loaded.definition is definition
    assert (loaded.target.module, loaded.target.attribute, loaded.target.origin) == ("a.b", "c", "the manifest")


def test_a_lazy_tool_is_taken_from_its_plugin():
    tool = PlainTool("send")
    registered = Registration("register_tools", "acme", "send", None, {}, tool)
    for rows, package, message in (
        ({("register_tools", "send"): registered}, None, None),
        ({}, "acme-tools", "upgrade acme-tools"),
        ({}, None, "upgrade it"),
    ):
        given = Plugin("acme", "acme", package, "1", loaded=Loaded(rows, {}))
        lazy = lazy_tool(tool.definition, given, target=None)
        if message is None:
            assert asyncio.run(lazy._load()) is tool
            continue
        with pytest.raises(PluginError) as error:
            asyncio.run(lazy._load())
        assert str(error.value) == (
            f"the plugin acme does not register the tool 'send' any more: {message}, or disable it with: oneclaw "
            "plugins disable acme"
        )


@pytest.mark.long
def test_many_plugins_are_merged_in_time_that_grows_with_their_number():
    """Look for steps that compare each plugin with each: the calls are counted, not the time."""

    def calls(count):
        counted = 0

        def count_call(frame, event, argument):
            nonlocal counted
            counted += event in ("call", "c_call")

        pairs = [
            (entry(f"tool_{n}", group="shared", groups=[described("shared")]), record(f"p{n}")) for n in range(count)
        ]
        sys.setprofile(count_call)
        try:
            merged(*pairs)
        finally:
            sys.setprofile(None)
        return counted

    assert calls(160) < 3 * calls(80)
