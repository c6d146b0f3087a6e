"""Names belong to OneClaw's distributions first, then to the distribution that had them first on this machine."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from how_long import some
from program import Outcome

from oneclaw_core import OneClaw
from oneclaw_core.cli.main import main
from oneclaw_core.plugins import discover, load_plugins
from oneclaw_core.plugins.look_here import LOOKS_HERE

TOOL = """
from oneclaw_core import hookimpl, tool

@tool
def {tool}() -> str:
    "Say who; use when asked to."
    return {who!r}

@hookimpl
def register_tools(register):
    register({tool})
"""
EVERYTHING = """
from pathlib import Path
import click
from pydantic import BaseModel
from oneclaw_core import ToolGroupDefinition, hookimpl, tool

WHO = {who!r}
ME = __name__ + ":target"

class Settings(BaseModel):
    colour: str = "red"

@tool(group="parcels", required_permissions=("parcels.send",))
def parcel_send() -> str:
    "Send a parcel; use when asked to."
    return WHO

@tool(group="parcels")
def {own}_tool() -> str:
    "Do something else."
    return WHO

def target(*arguments): pass
async def serve(context): pass

@click.command("post")
def post(): print(WHO)

@hookimpl
def register_tools(register):
    register(parcel_send)
    register({own}_tool)
    register.source("{own}", ME, listed_as="my_parcels")

@hookimpl
def register_groups(register):
    register(ToolGroupDefinition("parcels", "Parcels", "Parcels of " + WHO, {{"parcels.send": "send with " + WHO}}))

@hookimpl
def register_providers(register):
    register("parcel-wire", ME)
    register.preconfigured("parcel-models", type_name="parcel-wire", base_url="https://" + WHO)

@hookimpl
def register_skills(register):
    register(Path(__file__).with_name("{own}_skills") / "parcel-writing")

@hookimpl
def register_stores(register): register("parceldb", ME)

@hookimpl
def register_channels(register): register("pigeon", ME)

@hookimpl
def register_triggers(register): register("parcel_came", ME)

@hookimpl
def register_services(register): register("courier", serve, help=WHO)

@hookimpl
def register_commands(register):
    register("post", post)
    register.option("--parcel-port", help=WHO)

@hookimpl
def register_chat_commands(register): register("parcel", ME, help=WHO)

@hookimpl
def register_settings(register): register(Settings, keys={{"colour": "parcel_colour"}})
"""


class Machine:
    """A folder of ``sys.path`` with small distributions, and what a user has."""

    def __init__(self, root):
        self.site, self.data, self.cache = root / "site", root / "data", root / "cache"
        self.site.mkdir()
        self.environ = {"XDG_DATA_HOME": str(self.data), "XDG_CACHE_HOME": str(self.cache)}
        self.environ["ONECLAW_HOME"] = str(root / "home")
        ours = {
            each.name for each in discover() if not each.is_builtin and (each.distribution or "").startswith("oneclaw-")
        }
        self.environ["ONECLAW_DISABLED_PLUGINS"] = ",".join(sorted(ours - {"pdf"}))
        self.age = 0

    def forget(self):
        """Take what was installed here out of the interpreter, as if another process came next."""
        for name, module in list(sys.modules.items()):
            if (vars(module).get("__file__") or "").startswith(str(self.site)):
                del sys.modules[name]

    def install(self, name, source=None, *, tool="parcel_find", plugin=None, version="1.0"):
        module = name.lower().replace("-", "_")
        self.uninstall(name)
        info = self.site / f"{module}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (info / "entry_points.txt").write_text(f"[oneclaw]\n{plugin or module} = {module}\n")
        (self.site / f"{module}.py").write_text(source or TOOL.format(tool=tool, who=name))
        self.age += 1
        os.utime(info, (1_700_000_000 + self.age, 1_700_000_000 + self.age))
        return info

    def uninstall(self, name):
        module = name.lower().replace("-", "_")
        for info in self.site.glob(f"{module}-*.dist-info"):
            shutil.rmtree(info)

    def process(self, *arguments, **environ):
        """Run the program in a process of its own."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "oneclaw_core", *arguments],
            env={**os.environ, **self.environ, "PYTHONPATH": str(self.site), **environ},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
        )

    def document(self, *arguments):
        done = self.oneclaw(*arguments, "--json")
        return {each["name"]: each for each in json.loads(done.stdout)}, done.stderr

    @property
    def record(self):
        (path,) = self.data.rglob("owners-of-names.json")
        return path


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


@pytest.fixture
def in_process(machine, monkeypatch):
    """The machine in this process, which also looks at its plugins."""
    monkeypatch.syspath_prepend(machine.site)
    # A file that is written twice within a second may otherwise be read in its first form.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for name, value in machine.environ.items():
        monkeypatch.setenv(name, value)
    token = LOOKS_HERE.set(True)
    yield machine
    LOOKS_HERE.reset(token)
    machine.forget()


@pytest.fixture
def here(in_process):
    """The machine in this process: what is loaded, as ``{plugin: record}`` with the catalogue."""
    machine = in_process
    disabled = machine.environ["ONECLAW_DISABLED_PLUGINS"].split(",")

    def load(*also_disabled):
        machine.forget()
        catalog = load_plugins((*disabled, *also_disabled))
        return catalog, {each.name: each for each in catalog.plugins}

    machine.load = load
    return machine


@pytest.fixture
def commands(in_process, capfd):
    """The machine with the program run in this process: ``commands.oneclaw("tools", "list").stdout``."""

    def oneclaw(*arguments):
        in_process.forget()
        capfd.readouterr()
        status = main(list(arguments))
        return Outcome(status, *capfd.readouterr())

    in_process.oneclaw = oneclaw
    return in_process


def owner_of(catalog, tool="parcel_find"):
    source = catalog.registry.get_source_info(tool)
    return source and source.distribution.split()[0]


def causes(record):
    return " | ".join(each.cause for each in record.problems if each.is_error)


@pytest.mark.long
def test_a_later_package_does_not_take_a_tool_of_oneclaw(commands):
    commands.install("aa-pdf", tool="pdf_info")

    tools, stderr = commands.document("tools", "list")

    assert tools["pdf_info"]["plugin"] == "pdf"
    (line,) = stderr.splitlines()
    assert "the tool 'pdf_info' belongs to oneclaw-pdf, a distribution of OneClaw" in line
    assert "aa-pdf" in line
    plugins, _ = commands.document("plugins", "list")
    assert (plugins["pdf"]["status"], plugins["aa_pdf"]["status"]) == ("ok", "degraded")
    assert "first one stays" not in json.dumps(plugins)


@pytest.mark.long
def test_each_command_says_who_has_a_name_and_keeps_its_document_clean(commands):
    commands.install("zz-first")
    commands.oneclaw("tools", "list")
    commands.install("aa-second")
    said = "the tool 'parcel_find' belongs to zz-first, which had it first"

    for arguments in (("tools", "list", "--json"), ("plugins", "list", "--json"), ("doctor", "--json")):
        done = commands.oneclaw(*arguments)
        json.loads(done.stdout)
        assert [line for line in done.stderr.splitlines() if said in line] == done.stderr.splitlines()[:1]
    called = commands.oneclaw("call", "parcel_find")
    assert json.loads(called.stdout)["result"] == "zz-first"
    assert said in called.stderr

    shutil.rmtree(commands.cache)
    assert json.loads(commands.oneclaw("call", "parcel_find").stdout)["result"] == "zz-first"
    (problem,) = commands.document("plugins", "list")[0]["aa_second"]["problems"]
    assert "uninstall aa-second or zz-first" in problem["remedy"]


def test_every_kind_of_name_stays_with_the_first(here):
    for own in ("zz_first", "aa_second"):
        skill = here.site / f"{own}_skills" / "parcel-writing"
        skill.mkdir(parents=True)
        (skill / "SKILL.md").write_text("---\nname: parcel-writing\ndescription: Write.\n---\nWrite.\n")
        here.install(own.replace("_", "-"), EVERYTHING.format(who=own, own=own), plugin="parcels")
        here.load()

    catalog, records = here.load()

    first, second = records["parcels"], records["parcels@aa-second"]
    assert (first.distribution, first.status, second.status) == ("zz-first", "ok", "degraded")
    assert sorted(second.withheld) == [
        "channel pigeon",
        "chat command parcel",
        "command post",
        "command serve --parcel-port",
        "permission parcels.send",
        "plugin my_parcels",
        "plugin parcels",
        "provider parcel-models",
        "provider type parcel-wire",
        "service courier",
        "setting ONECLAW_PARCEL_COLOUR",
        "skill parcel-writing",
        "store parceldb",
        "tool group parcels",
        "tool parcel_send",
        "trigger parcel_came",
    ]
    assert second.tools == ["aa_second_tool"]
    assert [each.name for each in second.registrations] == ["aa_second_tool", "courier"]
    assert catalog.registry.get_group_definition("parcels").description == "Parcels of zz_first"
    assert catalog.registry.get_permission_meaning("parcels.send", "parcels@aa-second").text == "send with zz_first"
    assert catalog.known_providers.preconfigured["parcel-models"].base_url == "https://zz_first"
    assert [each.record.name for each in catalog.skills] == ["parcels"]


@pytest.mark.long
def test_a_service_whose_short_name_is_taken_keeps_its_full_one(commands):
    source = """
import os, signal
from oneclaw_core import hookimpl

async def work(context):
    os.write(1, {who!r}.encode() + b" works")
    os.kill(os.getpid(), signal.SIGTERM)

@hookimpl
def register_services(register):
    register("courier", work)
"""
    for name in ("zz-first", "aa-second"):
        commands.install(name, source.format(who=name))
        commands.oneclaw("plugins", "list")

    for chosen, who in (("courier", "zz-first"), ("aa_second.courier", "aa-second")):
        shown = commands.process("serve", "--only", chosen).stderr
        assert [each for each in ("zz-first", "aa-second") if f"{each} works" in shown] == [who]


@pytest.mark.long
def test_a_stranger_whose_name_begins_like_ours_is_a_stranger(here):
    here.install("zz-first")
    here.load()
    here.install("oneclaw-aaa")

    catalog, records = here.load()

    assert owner_of(catalog) == "zz-first"
    assert records["oneclaw_aaa"].status == "degraded"


@pytest.mark.long
@pytest.mark.parametrize("later", some(["Parcel_Find", "parcel_FIND"], 2))
def test_names_that_differ_in_case_alone_are_one(here, later):
    here.install("zz-first")
    here.load()
    here.install("aa-second", tool=later)

    catalog, records = here.load()

    assert (owner_of(catalog), owner_of(catalog, later)) == ("zz-first", None)
    assert f"the tool {later!r} belongs to zz-first" in causes(records["aa_second"])


@pytest.mark.long
def test_spellings_of_a_distribution_are_one(here):
    here.install("Acme_Parcels.Tools")
    here.load()
    shutil.rmtree(next(here.site.glob("acme_*.dist-info")))
    here.install("acme-parcels-tools")
    here.install("zz-second")

    assert owner_of(here.load()[0]) == "acme-parcels-tools"


@pytest.mark.long
def test_of_two_that_were_never_seen_the_older_installation_has_the_name(here):
    here.install("zz-first")
    here.install("aa-second")

    catalog, records = here.load()

    assert owner_of(catalog) == "zz-first"
    assert records["aa_second"].status == "degraded"


@pytest.mark.long
def test_two_that_came_at_the_same_moment_both_go_without(here):
    for name in ("zz-first", "aa-second"):
        os.utime(here.install(name), (1_700_000_000, 1_700_000_000))

    catalog, records = here.load()

    assert owner_of(catalog) is None
    for name in ("zz_first", "aa_second"):
        assert records[name].status == "degraded"
        assert "is claimed by aa-second and zz-first" in causes(records[name])
        assert "--allow-shadowing parcel_find" in records[name].problems[0].remedy


@pytest.mark.long
def test_an_upgrade_keeps_names_and_gives_up_those_that_it_drops(here):
    here.install("zz-first")
    here.load()
    here.install("aa-second")
    here.load()
    here.install("zz-first", version="2.0")
    assert owner_of(here.load()[0]) == "zz-first"

    here.install("zz-first", tool="other_find", version="3.0")

    catalog, records = here.load()
    assert (owner_of(catalog), owner_of(catalog, "other_find")) == ("aa-second", "zz-first")
    assert records["aa_second"].status == "ok"


@pytest.mark.long
def test_an_uninstalled_owner_gives_its_names_to_the_next(here):
    for name in ("zz-first", "mm-second", "aa-third"):
        here.install(name)
        here.load()

    here.uninstall("zz-first")
    assert owner_of(here.load()[0]) == "mm-second"

    here.install("zz-first")
    catalog, records = here.load()
    assert owner_of(catalog) == "mm-second"
    assert "belongs to mm-second" in causes(records["zz_first"])


@pytest.mark.long
def test_names_wait_for_an_owner_that_is_away_while_no_other_takes_them(here):
    here.install("zz-first")
    here.load()
    here.uninstall("zz-first")
    here.load()
    here.install("aa-second")
    os.utime(here.install("zz-first"))

    assert owner_of(here.load()[0]) == "zz-first"


@pytest.mark.long
@pytest.mark.parametrize("how", ["disabled", "broken"])
def test_an_owner_that_does_not_work_keeps_its_names(here, how):
    here.install("zz-first")
    here.load()
    if how == "broken":
        here.install("zz-first", "raise RuntimeError('broken')", version="2.0")
    here.install("aa-second")

    catalog, records = here.load(*(["zz_first"] if how == "disabled" else []))

    assert owner_of(catalog) is None
    assert "belongs to zz-first" in causes(records["aa_second"])


@pytest.mark.long
def test_oneclaw_comes_before_a_stranger_that_had_a_name_first(here):
    here.install("aa-pdf", tool="pdf_info")
    catalog, _ = here.load("pdf")
    assert owner_of(catalog, "pdf_info") == "aa-pdf"

    catalog, records = here.load()

    assert owner_of(catalog, "pdf_info") == "oneclaw-pdf"
    assert records["aa_pdf"].status == "degraded"


@pytest.mark.parametrize("damage", some(["garbage", "of another kind", "open to others", "a folder", "no folder"], 4))
def test_without_a_record_ours_win_and_strangers_go_without(here, damage):
    here.install("zz-first")
    if damage == "no folder":
        here.data.write_text("a file where the folder should be")
    else:
        here.load()
        contents = {"garbage": "{", "of another kind": "[]"}
        if damage == "a folder":
            here.record.unlink()
            next(here.data.rglob(".owners*.lock")).with_name("owners-of-names.json").mkdir()
        elif damage == "open to others":
            here.record.chmod(0o666)
        else:
            here.record.write_text(contents[damage])
    before = here.data.read_text() if damage == "no folder" else None
    here.install("aa-second")
    here.install("aa-pdf", tool="pdf_info")

    catalog, records = here.load()

    assert (owner_of(catalog), owner_of(catalog, "pdf_info")) == (None, "oneclaw-pdf")
    for name in ("zz_first", "aa_second"):
        assert records[name].status == "degraded"
        assert "is claimed by aa-second and zz-first" in causes(records[name])
    assert str(here.data) in records["aa_second"].problems[0].remedy
    assert before is None or here.data.read_text() == before
    here.uninstall("aa-second")
    assert owner_of(here.load()[0]) == "zz-first"


def test_what_was_noted_holds_where_nothing_can_be_noted(here):
    here.install("zz-first")
    here.load()
    here.install("aa-second")
    here.install("yy-third", tool="other_find")
    here.install("bb-fourth", tool="other_find")
    lock = here.record.with_name(f".{here.record.name}.lock")
    lock.unlink()
    lock.mkdir()

    catalog, records = here.load()

    assert (owner_of(catalog), owner_of(catalog, "other_find")) == ("zz-first", None)
    assert "belongs to zz-first" in causes(records["aa_second"])
    assert "is claimed by bb-fourth and yy-third" in causes(records["yy_third"])


@pytest.mark.long
def test_processes_that_look_at_the_same_time_agree(machine):
    for name in ("zz-first", "mm-second", "aa-third"):
        machine.install(name)
    disabled = {"ONECLAW_DISABLED_PLUGINS": f"{machine.environ['ONECLAW_DISABLED_PLUGINS']},pdf"}
    programs = some(range(4), 2)
    with ThreadPoolExecutor(len(programs)) as pool:
        found = list(
            pool.map(lambda _: json.loads(machine.process("call", "parcel_find", **disabled).stdout), programs)
        )

    assert {each["result"] for each in found} == {"zz-first"}
    names = json.loads(machine.record.read_text())["names"]
    assert names["tool"]["parcel_find"] == ["zz-first", "aa-third", "mm-second"]


@pytest.mark.long
def test_embedding_programs_follow_the_same_rule(here):
    here.install("zz-first")
    here.load()
    here.install("aa-second")

    async def opened(**options):
        async with OneClaw.open(here.environ["ONECLAW_HOME"], **options) as claw:
            return (await claw.call_tool("parcel_find")).result.result

    assert asyncio.run(opened()) == "zz-first"
    assert asyncio.run(opened(plugins=["builtin", "aa_second", "zz_first"])) == "zz-first"
    assert asyncio.run(opened(plugins=["builtin", "aa_second"])) == "aa-second"
    assert asyncio.run(opened()) == "zz-first"


def test_doctor_says_if_the_owners_of_names_cannot_be_read(commands):
    commands.install("zz-first")
    commands.oneclaw("plugins", "list")
    commands.record.write_text("{")

    checks = json.loads(commands.oneclaw("doctor", "--json").stdout)["checks"]

    (found,) = [each for each in checks if "owners of names" in each["message"]]
    assert (found["status"], str(commands.record) in found["message"]) == ("warning", True)


@pytest.mark.long
def test_plugins_of_one_name_are_disabled_apart(commands, monkeypatch):
    for name in ("zz-first", "aa-second"):
        commands.install(name, plugin="parcels", tool=name.replace("-", "_"))
        commands.oneclaw("plugins", "list")
    monkeypatch.delenv("ONECLAW_DISABLED_PLUGINS")

    done = commands.oneclaw("plugins", "disable", "parcels@aa-second")
    listed = commands.document("plugins", "list")[0]

    assert "no plugin named" not in done.stderr
    assert (listed["parcels"]["status"], listed["parcels@aa-second"]["status"]) == ("ok", "disabled")


@pytest.mark.long
def test_with_plugins_of_oneclaw_alone_nothing_is_noted(here):
    here.load()

    assert not here.data.exists()
