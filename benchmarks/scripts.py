"""Compare scripts with single and parallel calls: `uv run --group test python -m benchmarks.scripts [--json]`.

A scripted model answers, and OneClaw runs its calls: five tasks in three styles. `one by one` makes one call a request,
`batched` all independent calls in one request, `script` one `js_eval`. Input tokens are counted for each request, those
that a prompt cache does not hold too. The seconds of a model are estimated: SECONDS_A_REQUEST and TOKENS_A_SECOND.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_oneclaw import HomeUnderTest

from benchmarks.measuring import tokens_of, tokens_of_text
from oneclaw_core import hookimpl, tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from oneclaw_core.providers import ModelRequest

SECONDS_A_REQUEST = 1.5
TOKENS_A_SECOND = 70
STYLES = ("one by one", "batched", "script")
INNER_CALLS = 200
ROUNDS = 3

MAILS = {
    f"m{at}": {
        "id": f"m{at}",
        "from": f"person{at % 37}@example.org",
        "subject": f"Invoice {1000 + at}" if at % 3 == 0 else f"Re: meeting {at}",
        "date": f"2026-10-{1 + at % 28:02d}",
        "body": f"Hello,\n\nplease find attached invoice number {1000 + at}. Amount due: EUR {100 + at * 7 % 900}.00, "
        "payable within 14 days.\n" + "Regards, the billing team. This message is confidential. " * 16,
    }
    for at in range(120)
}
PEOPLE = {f"person{at}@example.org": {"name": f"Person {at}", "team": f"team{at % 5}"} for at in range(37)}


@tool(read_only=True)
def mail_search(query: str, max_results: int = 40) -> dict[str, Any]:
    """Search the mail.

    Args:
        query: words.
        max_results: at most.
    """
    found = [each for each in MAILS.values() if query.lower() in each["subject"].lower()][:max_results]
    return {"messages": [{name: each[name] for name in ("id", "from", "subject", "date")} for each in found]}


@tool(read_only=True)
def mail_read(message_id: str) -> dict[str, str]:
    """Read a mail.

    Args:
        message_id: its id.
    """
    return MAILS[message_id]


@tool
def mail_label(message_id: str, label: str) -> dict[str, str]:
    """Put a label on a mail.

    Args:
        message_id: its id.
        label: the label.
    """
    return {"id": message_id, "label": label}


@tool(read_only=True)
def people_find(email: str) -> dict[str, str]:
    """Find a person by the address.

    Args:
        email: the address.
    """
    return PEOPLE[email]


@tool(read_only=True)
async def mail_next(message_id: str) -> dict[str, str]:
    """Return the mail that follows on another one.

    Args:
        message_id: of the other one.
    """
    return {"id": f"m{int(message_id[1:]) + 1}", "note": "The next one in the thread. " * 8}


class Tools:
    """Registers the tools of the tasks as two groups."""

    @hookimpl
    def register_tools(self, register: Any) -> None:
        """Register them."""
        for each in (mail_search, mail_read, mail_label, mail_next):
            register(each, group="mail")
        register(people_find, group="people")


Calls = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        name: for the table.
        groups: that the model loads first.
        steps: the calls; those of one step do not need one another.
        script: does the same.
    """

    name: str
    groups: tuple[str, ...]
    steps: Sequence[Calls]
    script: str


def _invoices() -> list[dict[str, str]]:
    return [each for each in MAILS.values() if "Invoice" in each["subject"]][:40]


def _amount(mail: dict[str, str]) -> int:
    found = re.search(r"EUR (\d+)", mail["body"])
    return int(found[1]) if found else 0


TASKS = (
    Task(
        "mail: search, read 40, label the large",
        ("mail",),
        [
            [("mail_search", {"query": "invoice"})],
            [("mail_read", {"message_id": each["id"]}) for each in _invoices()],
            [
                ("mail_label", {"message_id": each["id"], "label": "large"})
                for each in _invoices()
                if _amount(each) > 600
            ],
        ],
        """const found = (await tools.mail_search({query: "invoice"})).messages;
const mails = await Promise.all(found.map(m => tools.mail_read({message_id: m.id})));
const amount = m => Number(/EUR (\\d+)/.exec(m.body)[1]);
const big = mails.filter(m => amount(m) > 600);
await Promise.all(big.map(m => tools.mail_label({message_id: m.id, label: "large"})));
return {total: mails.reduce((sum, m) => sum + amount(m), 0), labelled: big.length};""",
    ),
    Task(
        "files: 30 CSVs, filter, sum",
        (),
        [[("read_file", {"path": f"data/report{at}.csv"}) for at in range(30)]],
        """const names = Array.from({length: 30}, (_, i) => `data/report${i}.csv`);
const texts = await Promise.all(names.map(path => tools.read_file({path})));
let open = 0, sum = 0;
for (const text of texts) for (const line of text.split("\\n").slice(1)) {
  const [, state, amount] = line.split(",");
  if (state === "open") { open++; sum += Number(amount); }
}
return {open, sum};""",
    ),
    Task(
        "join: mails with the teams of their senders",
        ("mail", "people"),
        [
            [("mail_search", {"query": "invoice"})],
            [("people_find", {"email": each}) for each in dict.fromkeys(mail["from"] for mail in _invoices())],
        ],
        """const found = (await tools.mail_search({query: "invoice"})).messages;
const senders = [...new Set(found.map(m => m.from))];
const people = await Promise.all(senders.map(email => tools.people_find({email})));
const teams = {};
senders.forEach((email, i) => { teams[email] = people[i].team; });
const counts = {};
for (const m of found) counts[teams[m.from]] = (counts[teams[m.from]] ?? 0) + 1;
return counts;""",
    ),
    Task(
        "chain: 12 calls, each with the result of the one before",
        ("mail",),
        [[("mail_next", {"message_id": f"m{at}"})] for at in range(12)],
        """let id = "m0";
for (let i = 0; i < 12; i++) id = (await tools.mail_next({message_id: id})).id;
return id;""",
    ),
    Task(
        "one call alone",
        ("mail",),
        [[("mail_read", {"message_id": "m7"})]],
        'return await tools.mail_read({message_id: "m7"});',
    ),
)


@dataclass(frozen=True)
class Row:
    """The figures of a task in a style."""

    task: str
    style: str
    requests: int
    input_tokens: int
    not_cached: int
    output_tokens: int
    seconds: float

    @property
    def seconds_with_model(self) -> float:
        """Estimate the time with a model."""
        return self.requests * SECONDS_A_REQUEST + self.output_tokens / TOKENS_A_SECOND + self.seconds


@cache
def _tokens(text: str) -> int:
    return int(tokens_of_text(text))


def _parts(request: ModelRequest) -> list[str]:
    tools = "".join(json.dumps([each.name, each.description, each.parameters], default=dict) for each in request.tools)
    messages = (f"{each.type}{each.tool_name or ''}{each.tool_input or ''}{each.content}" for each in request.messages)
    return [tools, request.system_prompt, *messages]


def _home(folder: Path, plugins: Iterable[object] = ()) -> HomeUnderTest:
    data = folder / "project" / "data"
    data.mkdir(parents=True)
    for at in range(30):
        rows = "\n".join(f"{at}-{row},{'open' if row % 3 == 0 else 'closed'},{row * 1.5}" for row in range(120))
        (data / f"report{at}.csv").write_text(f"id,state,amount\n{rows}")
    return HomeUnderTest(folder / "home", folder / "project", [Tools(), "javascript", *plugins], check_plugins=False)


def play(task: Task, style: str, plugins: Iterable[object] = ()) -> Row:
    """Have a scripted model do a task in a style.

    Raises:
        RuntimeError: a call failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = _home(Path(folder), plugins)
        for group in task.groups:
            home.model.calls("load_tool_group", group_name=group)
        if style == "script":
            home.model.calls("js_eval", code=task.script, purpose=task.name)
        for step in task.steps if style != "script" else ():
            for place, (name, arguments) in enumerate(step):
                add = home.model.also_calls if style == "batched" and place else home.model.calls
                add(name, arguments)
        home.model.says("That is done: the figures are in the table above.")
        answers = [f"{each.text}{each.calls}" for each in home.model.unused]
        home.call_tool("js_eval", code="return 1")  # the engine has started, as in a running program
        started = time.perf_counter()
        record = home.send("Please do it.")
        seconds = time.perf_counter() - started
        failed = [each for each in record.tool_calls if not each.result.is_success]
        home.close()
        if failed:
            raise RuntimeError(f"{task.name}, {style}: {failed[0]}: {failed[0].result.error_message}")
    input_tokens = not_cached = 0
    before: list[str] = []
    for request in home.model.requests:
        parts = _parts(request)
        counts = [_tokens(each) for each in parts]
        same = next((at for at, pair in enumerate(zip(parts, before, strict=False)) if pair[0] != pair[1]), len(before))
        input_tokens, not_cached, before = input_tokens + sum(counts), not_cached + sum(counts[same:]), parts
    output = sum(map(_tokens, answers))
    return Row(task.name, style, len(home.model.requests), input_tokens, not_cached, output, seconds)


@dataclass(frozen=True)
class CallTime:
    """The time of one call, in milliseconds.

    Attributes:
        taken: what a clock says.
        used: processor time in OneClaw's process, which other programs do not prolong.
    """

    taken: float
    used: float


def call_times(plugins: Iterable[object] = ()) -> dict[str, CallTime]:
    """Measure a call of a tool that does nothing, in a script and by itself: the least of some rounds."""
    with tempfile.TemporaryDirectory() as folder:
        home = _home(Path(folder), plugins)
        code = "for (let i = 0; i < COUNT; i++) await tools.mail_next({message_id: 'm1'}); return 1;"

        def script(count: int) -> None:
            home.model.calls("load_tool_group", group_name="mail")
            home.model.calls("js_eval", code=code.replace("COUNT", str(count))).says("Done.")
            (_, called) = home.send("Please do it.", session=None).tool_calls
            if not called.result.is_success:
                raise RuntimeError(called.result.error_message)

        async def by_itself() -> None:
            for _ in range(INNER_CALLS):
                await home.app.call_tool("mail_next", '{"message_id": "m1"}')

        script(1)
        ways: dict[str, list[CallTime]] = {"with": [], "without": [], "alone": []}
        for _ in range(ROUNDS):
            ways["with"].append(_time_of(lambda: script(INNER_CALLS)))
            ways["without"].append(_time_of(lambda: script(0)))
            ways["alone"].append(_time_of(lambda: home.run(by_itself())))
        home.close()
    least = {
        way: CallTime(min(each.taken for each in times), min(each.used for each in times))
        for way, times in ways.items()
    }
    with_calls, without, alone = (least[way] for way in ("with", "without", "alone"))
    return {
        "in a script": CallTime(
            (with_calls.taken - without.taken) / INNER_CALLS, (with_calls.used - without.used) / INNER_CALLS
        ),
        "by itself": CallTime(alone.taken / INNER_CALLS, alone.used / INNER_CALLS),
    }


def _time_of(work: Callable[[], object]) -> CallTime:
    started, used = time.perf_counter(), time.process_time()
    work()
    return CallTime((time.perf_counter() - started) * 1000, (time.process_time() - used) * 1000)


def definition_tokens() -> dict[str, int]:
    """Count the tokens that each request takes for scripts and for reading long results."""
    packages = {"js_eval": ("oneclaw_javascript", "."), "read_file": ("oneclaw_core.builtin", "manifests")}
    counts = {}
    for name, (package, folder) in packages.items():
        entry = json.loads((files(package) / folder / f"{name}.json").read_text("utf-8"))
        counts[name] = tokens_of([{key: entry[key] for key in ("name", "description", "parameters")}])
    return counts


def table(rows: Iterable[Row]) -> str:
    """Write the rows as a table in Markdown."""
    lines = [
        "| task | style | requests | input tokens | not cached | output tokens | OneClaw, s | with a model, s |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [
        f"| {row.task} | {row.style} | {row.requests} | {row.input_tokens:,} | {row.not_cached:,} | "
        f"{row.output_tokens:,} | {row.seconds:.2f} | {row.seconds_with_model:.1f} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure, and print the figures."""
    rows = [play(task, style) for task in TASKS for style in STYLES]
    homes = {"": call_times(), " with checkpoints": call_times(["checkpoints"])}
    calls = {f"{way}{home}": each for home, times in homes.items() for way, each in times.items()}
    if "--json" in sys.argv[1:]:
        figures = [{**vars(row), "seconds_with_model": row.seconds_with_model} for row in rows]
        print(json.dumps({"rows": figures, "call_ms": {name: vars(each) for name, each in calls.items()}}))
        return
    print(table(rows))
    print("\nTokens in each request:", ", ".join(f"{name} {count}" for name, count in definition_tokens().items()))
    for name, each in calls.items():
        print(f"\nA call {name} takes {each.taken:.2f} ms, and {each.used:.2f} ms of processor time.")


if __name__ == "__main__":
    main()
