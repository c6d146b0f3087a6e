"""Programs that mean harm, or do it by mistake: each is answered, and nothing is left of it."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from how_long import some
from oneclaw_javascript import running
from oneclaw_javascript.bridges import JavaScriptBridges
from oneclaw_javascript.errors import JavaScriptError, JavaScriptTimeoutError
from oneclaw_javascript.running import check_javascript, run_javascript
from worker_processes import is_running, started, until, wait_until

from oneclaw_core import UsageError

__all__ = ["started"]  # a fixture

ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
LITTLE_MEMORY_BYTES = 24 * 1024**2


def first_on_every_python(values):
    """What the engine does is the same under each Python; that it is stopped, the first of each kind shows.

    A third of the others is tried each time.
    """
    first, *others = some(values, 3)
    return [
        first,
        *(
            pytest.param(*(each if isinstance(each, tuple) else (each,)), marks=pytest.mark.one_python)
            for each in others
        ),
    ]


def run(code, **arguments):
    return asyncio.run(run_javascript(code, **arguments))


def error_of(code, **arguments):
    with pytest.raises(JavaScriptError) as caught:
        run(code, **arguments)
    return caught.value


def resident_bytes():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize(
    "code",
    first_on_every_python(
        [
            "while (true);",
            "for (;;) { try { while (true); } catch { continue } finally { continue } }",
            "Promise.resolve().then(() => { while (true); })",
            "await null; while (true);",
            "const again = () => Promise.resolve().then(again); await again()",
            "async function main() { while (true) await null }",
            "/(a+)+$/.test('a'.repeat(40) + 'b')",
            "'x'.repeat(1e5).replace(/(x+x+)+y/g, '')",
            "({ toJSON() { while (true); } })",
            "throw { toJSON() { while (true); } }",
            "while (true) console.log('on and on')",
            "new Proxy({}, { ownKeys() { while (true); } })",
            "Object.defineProperty(globalThis, 'params', { get() { while (true); } }); params",
            "await { then() { while (true); } }",
        ]
    ),
)
def test_what_never_ends_is_stopped_after_its_time(code, started):
    begun = time.monotonic()
    error = error_of(code, timeout_seconds=0.1)
    assert isinstance(error, JavaScriptTimeoutError)
    assert str(error).startswith("the code was stopped after 0.1 s")
    assert time.monotonic() - begun < 60
    assert [process.returncode for process in started] == [-signal.SIGKILL]


def test_what_was_on_the_console_comes_with_the_timeout():
    assert error_of("console.log('got here'); while (true);", timeout_seconds=0.2).console == "got here"


def test_a_check_is_stopped_too(monkeypatch):
    monkeypatch.setattr(running, "CHECK_SECONDS", 0.2)
    with pytest.raises(JavaScriptTimeoutError):
        asyncio.run(check_javascript("while (true); function execute() {}", "execute"))


@ON_LINUX
@pytest.mark.parametrize(
    "code",
    first_on_every_python(
        [
            "const a = []; for (;;) a.push(1, 2, 3)",
            "globalThis.kept = []; for (;;) kept.push({ a: [] })",
            "let s = 'x'; for (;;) s += s",
            "'x'.repeat(1e9)",
            "'ü€'.repeat(3e7)",
            "new ArrayBuffer(1024 ** 3)",
            "new Uint8Array(1e9).fill(1)",
            "new Array(1e9).fill(0)",
            "[...Array(1e9).keys()]",
            "const m = new Map(); for (let i = 0; ; i++) m.set(i, 'value' + i)",
            "async function main() { globalThis.a = []; while (true) { a.push('x'.repeat(1000)); await null } }",
            "globalThis.a = []; const fill = () => { for (;;) a.push([]) }; await Promise.resolve().then(fill)",
            "function main() { globalThis.a = []; try { for (;;) a.push({}) } catch (e) { throw e } }",
        ]
    ),
)
def test_a_memory_bomb_is_an_error_that_says_so(code):
    before = resident_bytes()
    message = str(error_of(code, timeout_seconds=60, memory_bytes=LITTLE_MEMORY_BYTES))
    assert "memory" in message or "string too long" in message
    assert resident_bytes() - before < 30_000_000


def test_memory_can_be_given_and_is_all_there_is():
    code = "new ArrayBuffer(20 * 1024 ** 2).byteLength"
    assert run(code, memory_bytes=32 * 1024**2).value == 20 * 1024**2
    assert "out of memory" in str(error_of(code, memory_bytes=16 * 1024**2))
    # Without a word about it, there is a limit too.
    assert "out of memory" in str(error_of("const a = []; for (;;) a.push(1, 2, 3)", timeout_seconds=60))
    with pytest.raises(UsageError):
        run("1", memory_bytes=1000)


@pytest.mark.one_python
def test_memory_is_enough_for_a_million_numbers():
    assert run("Array.from({ length: 1e6 }, (_, i) => i).reduce((a, b) => a + b)").value == 499999500000


def test_a_program_can_catch_that_its_memory_is_used_up():
    assert (
        run("try { new ArrayBuffer(1024 ** 3) } catch (e) { 'caught: ' + e.message }").text == "caught: out of memory"
    )


@pytest.mark.parametrize(
    "code",
    first_on_every_python(
        [
            "(function f() { f() })()",
            "const f = () => [1].map(f); f()",
            "JSON.parse('['.repeat(1e6))",
            "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; JSON.stringify(o)",
            "let o = {}; for (let i = 0; i < 1e5; i++) o = { o }; o",
            "const o = { get a() { return o.a } }; o.a",
            "const o = { toString() { return `${o}` } }; `${o}`",
            "eval('('.repeat(1e5) + ')'.repeat(1e5))",
        ]
    ),
)
def test_deep_recursion_is_an_error_that_says_so(code):
    message = str(error_of(code))
    assert "Maximum call stack size exceeded" in message or "stack overflow" in message


def test_deeply_nested_code_cannot_be_parsed():
    assert "Maximum call stack size exceeded" in str(error_of("(" * 100_000 + ")" * 100_000))


@ON_LINUX
def test_a_giant_result_is_refused_with_its_size():
    before = resident_bytes()
    assert "the value has 3000002 characters as JSON, more than 1000000" in str(error_of("'x'.repeat(3e6)"))
    assert resident_bytes() - before < 30_000_000


def test_a_result_as_long_as_it_may_be_comes_whole():
    assert run("'x'.repeat(1e6 - 2)").text == "x" * 999_998
    assert run("'€'.repeat(1e6 - 2)").text == "€" * 999_998


@ON_LINUX
@pytest.mark.parametrize(
    "code",
    first_on_every_python(
        [
            "for (let i = 0; i < 1e5; i++) console.log('spam')",
            "console.log('y'.repeat(1e7))",
            "for (let i = 0; i < 1e5; i++) console.log()",
            "for (let i = 0; i < 10; i++) console.error('€'.repeat(1e6))",
        ]
    ),
)
def test_a_giant_console_is_cut_with_a_notice(code):
    before = resident_bytes()
    result = run(code + "; 'done'")
    assert result.text == "done"
    assert sum(len(line.text) + 1 for line in result.console[:-1]) <= 20_001
    assert result.console[-1].text == "[cut here: only the first 20,000 characters of the console are kept]"
    assert resident_bytes() - before < 30_000_000


@pytest.mark.parametrize(
    ("tricks", "text"),
    first_on_every_python(
        [
            ("JSON.stringify = () => 'evil'; JSON.parse = () => 'evil'", '{"a":1}'),
            ("globalThis.JSON = null; globalThis.Reflect = null; globalThis.Promise = null", '{"a":1}'),
            ("Object.prototype.toJSON = () => 'mine'", "mine"),
            ("String.prototype.toJSON = () => 'evil'; String.prototype.slice = () => 'evil'", '{"a":1}'),
            ("Promise.prototype.then = () => { throw 1 }; Promise.resolve = null", '{"a":1}'),
            ("Object.prototype.then = undefined; Object.prototype.error = 'evil'", '{"a":1}'),
            ("Array.prototype.join = () => 'evil'; Array.prototype[Symbol.iterator] = null", '{"a":1}'),
            ("Function.prototype.call = Function.prototype.apply = () => 'evil'", '{"a":1}'),
            ("Object.defineProperty(Object.prototype, 'json', { set() { throw 1 }, get() { throw 2 } })", '{"a":1}'),
            ("Object.defineProperty(Object.prototype, 'value', { set() {}, get() { return 'evil' } })", '{"a":1}'),
            ("globalThis.console = globalThis.fetch = globalThis.params = null", '{"a":1}'),
            (
                "String = Error = Number = Map = Set = Object = Array = TypeError = null",
                '{"a":1}',
            ),
            ("RegExp.prototype.exec = () => { throw 1 }; RegExp.prototype.test = () => true", '{"a":1}'),
            ("Error.prepareStackTrace = () => 'evil'", '{"a":1}'),
            ("Object.freeze(Object.prototype); Object.freeze(globalThis)", '{"a":1}'),
        ]
    ),
)
def test_tricks_with_what_the_engine_gives_change_nothing(tricks, text):
    code = f"{tricks};\n({{ a: 1 }})"
    assert run(code).text == text
    assert run(f"await null; {code}").text == text
    assert run("({ a: 1 })").text == '{"a":1}'


@pytest.mark.parametrize(
    "code",
    [
        "[typeof oneclaw_send, typeof oneclaw_ask].join('')",
        "[typeof std, typeof os, typeof require, typeof process, typeof Worker].join('')",
        "typeof fetch + typeof fs + typeof lib + typeof _time",
    ],
)
def test_a_program_has_nothing_that_reaches_out(code):
    assert set(run(code).text.split("undefined")) == {""}


def test_the_functions_between_worker_and_program_cannot_be_found_from_stack_traces():
    code = """
    const found = [];
    Error.prepareStackTrace = (_, sites) => {
      for (const site of sites) found.push(site.getFunction?.());
      return '';
    };
    console.log({ toJSON() { return new Error().stack } });
    found.filter((each) => each && /native code/.test(String(each)) && /oneclaw/.test(each.name)).length
    """
    assert run(code).value == 0


def test_import_reaches_no_file():
    assert "could not load module" in str(error_of("await import('/etc/passwd')"))


@ON_LINUX
def test_a_worker_has_no_rights_and_no_environment(started, monkeypatch):
    monkeypatch.setenv("ONECLAW_TEST_SECRET", "hunter2")

    async def look():
        task = asyncio.create_task(run_javascript("console.log('on'); while (true);"))
        await until(lambda: started and Path(f"/proc/{started[0].pid}/limits").exists(), "no worker")
        limits = Path(f"/proc/{started[0].pid}/limits")
        await until(lambda: "Max open files            3 " in limits.read_text(), "its limits were not set")
        environ = Path(f"/proc/{started[0].pid}/environ").read_bytes()
        descriptors = sorted(each.name for each in Path(f"/proc/{started[0].pid}/fd").iterdir())
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return environ, descriptors

    environ, descriptors = asyncio.run(look())
    assert b"hunter2" not in environ
    assert b"HOME=" not in environ
    assert descriptors == ["0", "1", "2"]


def test_a_worker_that_is_killed_is_an_error_that_says_so(started):
    async def kill():
        heard = asyncio.Event()
        bridges = JavaScriptBridges(on_console=lambda _: heard.set())
        task = asyncio.create_task(run_javascript("console.log('on'); while (true);", bridges=bridges))
        await heard.wait()
        os.kill(started[0].pid, signal.SIGKILL)
        with pytest.raises(JavaScriptError, match="was ended by signal SIGKILL before the code had finished"):
            await task

    asyncio.run(kill())
    assert run("'and on'").text == "and on"


def test_cancelling_leaves_no_process(started):
    async def cancel():
        heard = asyncio.Event()
        bridges = JavaScriptBridges(on_console=lambda _: heard.set())
        task = asyncio.create_task(run_javascript("console.log('on'); while (true);", bridges=bridges))
        await heard.wait()
        assert is_running(started[0].pid)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert started[0].returncode == -signal.SIGKILL

    asyncio.run(cancel())
    assert not is_running(started[0].pid)


def test_cancelling_at_any_moment_leaves_no_process(started):
    async def cancel_after(steps):
        task = asyncio.create_task(run_javascript("while (true);"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    for steps in (0, 1, 2, 4, 8, 16, 64):
        asyncio.run(cancel_after(steps))
    assert not any(is_running(process.pid) for process in started)


@pytest.mark.long
def test_a_worker_ends_when_its_caller_is_killed(tmp_path):
    program = """
import asyncio, sys
from pathlib import Path
from oneclaw_core.process import python_runner
from oneclaw_javascript.bridges import JavaScriptBridges
from oneclaw_javascript.running import run_javascript
pids = []
class Recorded(python_runner.PythonProcess):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        pids.append(self.pid)
python_runner.PythonProcess = Recorded
tell = JavaScriptBridges(on_console=lambda _: Path(sys.argv[1]).write_text(str(pids[0])))
asyncio.run(run_javascript("console.log('on'); while (true);", bridges=tell, timeout_seconds=60))
"""
    pid_file = tmp_path / "pid"
    caller = subprocess.Popen([sys.executable, "-c", program, str(pid_file)])
    try:
        wait_until(lambda: pid_file.exists() and pid_file.read_text(), "the worker has not started")
    finally:
        caller.send_signal(signal.SIGKILL)
        caller.wait()
    worker = int(pid_file.read_text())
    wait_until(lambda: not is_running(worker), f"process {worker} still runs")


@pytest.mark.one_python
def test_many_programs_run_side_by_side_and_know_nothing_of_each_other():
    async def many():
        code = "if (globalThis.mark) throw 1; globalThis.mark = true; Object.prototype.x = 1; params.n * 2"
        return await asyncio.gather(*(run_javascript(code, params={"n": n}) for n in range(24)))

    assert [result.value for result in asyncio.run(many())] == [2 * n for n in range(24)]


@ON_LINUX
def test_nothing_is_left_open_after_many_programs():
    run("1")
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        run("1")
        error_of("throw 1")
        error_of("while (true);", timeout_seconds=0.05)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("code", ["1;" * 500_001, "1\n" * 100_000])
def test_code_that_is_too_long_is_refused(code):
    with pytest.raises(UsageError, match="the code is too long"):
        run(code)


@pytest.mark.long
@pytest.mark.one_python
def test_long_code_runs():
    assert run("1;" * 499_999 + "2").value == 2
    assert run("await 1;\n" + "f('/*`');\n" * 50_000 + "function f() {}\n'end'").text == "end"


@pytest.mark.one_python
def test_code_that_is_one_long_literal_runs():
    assert run(f"await 1; `{'x' * 900_000}`.length").value == 900_000
    assert run(f"await 1; '{'x' * 900_000}'.length").value == 900_000
    assert run(f"await 1; /{'x' * 100_000}/.source.length").value == 100_000


def test_a_half_of_a_surrogate_pair_in_the_code_is_taken_as_it_is():
    assert run("'\ud800'.length").value == 1
