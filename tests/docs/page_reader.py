"""A reader who does what a page says, block after block: writes the files, runs the commands and the Python."""

import importlib
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

import importlib_metadata
from documentation_pages import ROOT

from oneclaw_core.cli.main import main
from oneclaw_core.manifests.manifest import load_manifest

_COMMANDS_OF_THE_README = re.compile(r"pip install uv && uv run ")
_EDITABLE_INSTALLS = ("pip install --editable .", 'pip install --editable ".[test]"')
_NEEDS_A_SHELL = re.compile(r"[|;&<>$]")
_PIPED = re.compile(r"(?P<printing>printf [^|]*?) \| (?P<command>oneclaw [^|]*?)(?P<is_quiet> 2>/dev/null)?")
# Variables are set for the one command; of what is printed it may take part.
_IN_ANOTHER_ENVIRONMENT = re.compile(
    r"(?P<variables>(?:[A-Z_]+=\S+ )*)(?P<command>oneclaw .*?)(?P<is_quiet> 2>/dev/null)?"
    r'(?: \| grep "(?P<word>[^"]+)")?'
)
_NEXT = " && "
_TAKES_SECONDS = re.compile(r"(python -m )?pytest\b.*|oneclaw plugins check\b.*")
_PYTEST = re.compile(r"(?P<is_module>python -m )?pytest(?P<arguments>( -?[-\w.]+)*)")
_VARIES = [
    (re.compile(r"<?\d[\d,.]* ?(ms|s)\b( \(\d+:\d\d:\d\d\))?"), "N ms"),  # pytest adds minutes
    (re.compile(r'"(duration_ms|input_tokens|output_tokens)": [\d.]+'), r'"\1": N'),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)"), "TIME"),
    (re.compile(r"\b([0-9a-f]{32}|[0-9a-f]{12})\b"), "ID"),
    (re.compile(r"[ \t]+$", re.MULTILINE), ""),
    # Columns are as wide as what is in them, and rows of other plugins are left out of pages.
    (re.compile(r"(?<=\S) {2,}"), "  "),
]


class PageReader:
    """Works in a directory with a copy of ``examples/``, with an ``ONECLAW_HOME`` of its own.

    ``cd`` changes the directory for all that follows, and nothing is downloaded for ``pip install --editable .``.

    Args:
        directory: an empty one.
        is_by_the_letter: whether all that needs a shell is given to one; else the program runs in this process where
            what is shown needs no more than a pipe or variables, and pytest in a process that has done its imports.
        is_quick: whether tests and checks, which start processes that take seconds, are left out.
    """

    def __init__(self, directory, *, is_by_the_letter=True, is_quick=False):
        self._is_by_the_letter = is_by_the_letter
        self._is_quick = is_quick
        self._folder = directory / "project"
        self._site = directory / "site-packages"
        for folder in (self._folder, self._site):
            folder.mkdir()
        if (ROOT / "examples").is_dir():
            shutil.copytree(ROOT / "examples", self._folder / "examples")
        self.search_path = [str(self._folder), str(self._site)]
        self._names = {"__name__": "page"}
        self._printed = ""
        self._status = 0

    @property
    def folder(self):
        """Where the reader works."""
        return self._folder

    def follow(self, block, page):
        """Do what a block says.

        Raises:
            AssertionError: what comes of it is not what the page shows.
        """
        what = block.directive or block.language
        if what == "not run":
            assert block.value, "say why it is not run"
        elif what in ("file", "faulty file"):
            self._write(block)
        elif what == "prints":
            assert_shown(block.text, self._printed)
        elif what == "python":
            self._run_python(block, page)
        elif what == "console":
            self._run_console(block)
        elif what == "sh":
            for line in block.text.splitlines():
                self._run_command(_COMMANDS_OF_THE_README.sub("", line))
                assert self._status == 0, f"{line!r} ended with status {self._status}:\n{self._printed}"
        elif what == "json":
            json.loads(block.text)
        elif what == "toml":
            tomllib.loads(block.text)
        elif what == "{generated}":
            assert block.text.strip(), "say what readers of the plain file can look at instead"
        else:
            assert what == "text", f"no reader knows what to do with a block of {what!r}"

    def forget(self):
        """Take what the page brought out of the interpreter."""
        folder = str(self._folder)
        for name, module in list(sys.modules.items()):
            if (vars(module).get("__file__") or "").startswith(folder):
                del sys.modules[name]
        importlib.invalidate_caches()
        importlib_metadata.MetadataPathFinder.invalidate_caches()

    def _write(self, block):
        path = Path.cwd() / block.value
        path.parent.mkdir(parents=True, exist_ok=True)
        was_written = path.stat().st_mtime if path.exists() else 0.0
        path.write_text(block.text, encoding="utf-8")
        if was_written:  # a file that is written twice within a second would otherwise be read in its first form
            later = max(path.stat().st_mtime, was_written + 2)
            os.utime(path, (later, later))
        if path.suffix == ".json":
            problems = [str(problem) for problem in load_manifest(path).problems]
            assert bool(problems) == (block.directive == "faulty file"), problems
        elif path.name == "pyproject.toml":
            self._install(tomllib.loads(block.text)["project"])
        self.forget()

    def _install(self, project):
        """Do what ``pip install --editable .`` does: only the metadata are copied, the code stays where it is."""
        info = self._site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
        info.mkdir(exist_ok=True)
        metadata = f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
        (info / "METADATA").write_text(metadata)
        points = project["entry-points"]["oneclaw"]
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[oneclaw]\n{lines}")

    def _run_python(self, block, page):
        # Empty lines before it, so that a traceback names the line of the page.
        code = compile("\n" * (block.line - 1) + block.text, str(page), "exec")
        output = io.StringIO()
        with redirect_stdout(output):
            exec(code, self._names)
        self._printed = output.getvalue()

    def _run_console(self, block):
        parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
        assert parts[0] == "", "a console block begins with a command"
        is_left_out = False
        for number, part in enumerate(parts[1:], 1):
            command, _, shown = part.partition("\n")
            if command != "echo $?":
                is_left_out = self._is_quick and _TAKES_SECONDS.fullmatch(command)
            if is_left_out:
                continue
            self._run_command(command)
            if shown.strip():
                assert_shown(shown, self._printed)
            # A failure that a page does not speak of is none that its readers expect.
            is_spoken_of = number + 1 < len(parts) and parts[number + 1].startswith("echo $?")
            assert self._status == 0 or is_spoken_of, f"{command!r} ended with status {self._status}:\n{self._printed}"

    def _run_command(self, command):
        if command == "echo $?":
            self._printed, self._status = f"{self._status}\n", 0
        elif command.startswith("cd "):
            os.chdir(command.removeprefix("cd "))
            self._printed, self._status = "", 0
        elif command in _EDITABLE_INSTALLS:
            self._install(tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"])
            self.search_path.insert(0, str(Path.cwd()))
            sys.path.insert(0, str(Path.cwd()))
            self.forget()
            self._printed, self._status = "", 0
        elif command.startswith("oneclaw ") and not _NEEDS_A_SHELL.search(_unquoted(command)):
            self._run_oneclaw(command)
        elif (piped := self._piped(command)) is not None:
            with tempfile.TemporaryFile("w+", encoding="utf-8") as printed, redirect_stdin(printed):
                subprocess.run(["sh", "-c", piped["printing"]], stdout=printed, check=True)
                printed.seek(0)
                self._run_oneclaw(piped["command"], errors=io.StringIO() if piped["is_quiet"] else None)
        elif not self._is_by_the_letter and (elsewhere := _without_shell(_IN_ANOTHER_ENVIRONMENT, command)):
            self._run_elsewhere(elsewhere)
        elif not self._is_by_the_letter and _NEXT in command and not _NEEDS_A_SHELL.search(command.replace(_NEXT, " ")):
            printed = ""
            for each in command.split(_NEXT):
                self._run_command(each)
                printed += self._printed
                if self._status:
                    break
            self._printed = printed
        elif not self._is_by_the_letter and (tests := _PYTEST.fullmatch(command)):
            self._run_pytest(tests)
        else:
            done = subprocess.run(
                ["sh", "-c", command],
                env=self._environ(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=300,
            )
            self._printed, self._status = done.stdout, done.returncode

    def _environ(self):
        programs = Path(sys.executable).parent
        return {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(self.search_path),
        }

    def _piped(self, command):
        return None if self._is_by_the_letter else _without_shell(_PIPED, command)

    def _run_elsewhere(self, parts):
        with changed_environ({"PWD": str(Path.cwd())}):  # as a shell has it
            words = os.path.expandvars(parts["variables"]).split()
        with changed_environ(dict(word.split("=", 1) for word in words)):
            self._run_oneclaw(parts["command"], errors=io.StringIO() if parts["is_quiet"] else None)
        if parts["word"]:
            lines = [line for line in self._printed.splitlines(keepends=True) if parts["word"] in line]
            self._printed, self._status = "".join(lines), 0 if lines else 1

    def _run_pytest(self, parts):
        options = [] if parts["is_module"] else ["-P"]
        with tempfile.TemporaryFile("w+", encoding="utf-8") as printed:
            command = [sys.executable, *options, "-m", "pytest", *parts["arguments"].split()]
            self._status = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                env=self._environ(),
                timeout=300,
                check=False,
            ).returncode
            printed.seek(0)
            self._printed = printed.read()

    def _run_oneclaw(self, command, errors=None):
        output = io.StringIO()
        with redirect_stdout(output), redirect_stderr(output if errors is None else errors):
            self._status = main(shlex.split(command)[1:])
        self._printed = output.getvalue()


def _without_shell(pattern, command):
    """Take a command apart, unless the program's arguments need a shell."""
    parts = pattern.fullmatch(command)
    return None if parts is None or _NEEDS_A_SHELL.search(_unquoted(parts["command"])) else parts


def _unquoted(command):
    return re.sub(r"'[^']*'|\"[^\"]*\"", "", command)


@contextmanager
def changed_environ(variables):
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def redirect_stdin(stream):
    before, sys.stdin = sys.stdin, stream
    try:
        yield
    finally:
        sys.stdin = before


def assert_shown(shown, printed):
    """Compare what a page shows with what was printed.

    In what is shown, ``...`` alone on a line stands for any lines, within a line for any text on it. Times, durations,
    counts of tokens, the ids of sessions and the widths of columns count as the same.
    """
    for pattern, replacement in _VARIES:
        shown, printed = pattern.sub(replacement, shown), pattern.sub(replacement, printed)
    lines = [
        r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line).replace(r"\.\.\.", r"[^\n]*") + r"\n"
        for line in shown.rstrip("\n").split("\n")
    ]
    # The end of a page's excerpt may leave out empty lines.
    assert re.fullmatch("".join(lines) + r"\n*", printed.rstrip("\n") + "\n"), (
        f"the page shows\n{shown}\nbut printed was\n{printed}"
    )
