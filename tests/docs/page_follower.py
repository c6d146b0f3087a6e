"""Somebody without a checkout who does what a page says, in an environment with only our wheels.

Commands run in a shell, ``pip install`` installs, and Python blocks run one after another in one process of
that environment. What commands print is compared as :mod:`page_reader` does.
"""

import json
import re
import shutil
import subprocess

from outside import ROOT
from page_reader import assert_shown

_ASKS_INDEX = "it asks a package index"
# The environment has been made already.
_MAKES_ENVIRONMENT = re.compile(r'python3 -m venv .*|pip install "oneclaw-core\[standard\]".*')
_VARIABLES = {"PY_COLORS": "0"}
_EXAMPLE = "examples/quarterly-report.pdf"
# Runs each block with the names of those before it. A package that was installed meanwhile is found, and a module that
# was written again is read again.
_INTERPRETER = """
import contextlib, importlib, io, json, site, sys, sysconfig, traceback
names, answers = {"__name__": "page"}, sys.stdout
for line in sys.stdin:
    block = json.loads(line)
    site.addsitedir(sysconfig.get_paths()["purelib"])
    for name, module in list(sys.modules.items()):
        if (vars(module).get("__file__") or "").startswith(block["folder"]):
            del sys.modules[name]
    importlib.invalidate_caches()
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        try:
            exec(compile("\\n" * (block["line"] - 1) + block["text"], block["page"], "exec"), names)
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps({"printed": printed.getvalue(), "error": error}), file=answers, flush=True)
"""


class PageFollower:
    """Follows the blocks of pages.

    Args:
        outside: the environment.
        page: the page.

    Attributes:
        directory: the one that the page has changed to.
    """

    def __init__(self, outside, page):
        self._outside, self._page = outside, page
        self._folder = self.directory = outside.folder / "work"
        self._folder.mkdir()
        if _EXAMPLE in page.read_text(encoding="utf-8"):
            # The page says that it is a file of the repository.
            (self._folder / _EXAMPLE).parent.mkdir()
            shutil.copyfile(ROOT / _EXAMPLE, self._folder / _EXAMPLE)
        for folder in re.findall(r"^\$ cd (examples/plugins/\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            shutil.copytree(ROOT / folder, self._folder / folder)
        self._python = None
        self._printed, self._status = "", 0

    def close(self):
        """End the process of the Python blocks."""
        if self._python is not None:
            self._python.stdin.close()
            self._python.wait(60)
            self._python.stdout.close()

    def follow(self, block):
        """Do what a block says.

        Raises:
            AssertionError: it does not work, or prints something else than the page shows.
        """
        what = block.directive or block.language
        if what == "not run" and block.value == _ASKS_INDEX:
            self._run_lines(line for line in block.text.splitlines() if not _MAKES_ENVIRONMENT.fullmatch(line))
        elif what in ("file", "faulty file"):
            path = self.directory / block.value
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif what == "prints":
            assert_shown(block.text, self._printed)
        elif what == "python":
            self._run_python(block)
        elif what == "console":
            self._run_console(block)
        elif what == "sh":
            self._run_lines(block.text.splitlines())

    def _run_lines(self, lines):
        for line in lines:
            self._run(line.partition("  #")[0].rstrip())
            assert self._status == 0, f"{line!r} ended with status {self._status}:\n{self._printed}"

    def _run_console(self, block):
        parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
        for number, part in enumerate(parts, 1):
            command, _, shown = part.partition("\n")
            self._run(command)
            if shown.strip():
                assert_shown(shown, self._printed)
            is_expected = number < len(parts) and parts[number].startswith("echo $?")
            assert self._status == 0 or is_expected, f"{command!r} ended with status {self._status}:\n{self._printed}"

    def _run(self, command):
        if command == "echo $?":
            self._printed, self._status = f"{self._status}\n", 0
        elif command.startswith("cd "):
            self.directory = self.directory / command.removeprefix("cd ")
            self._printed, self._status = "", 0
        elif command.startswith("pip install "):
            self._outside.run(f"{command} --quiet", self.directory)
            self._printed, self._status = "...\n", 0
        else:
            self._printed, self._status = self._outside.run(command, self.directory, is_ok=False, **_VARIABLES)

    def _run_python(self, block):
        if self._python is None:
            self._python = subprocess.Popen(
                [self._outside.programs / "python", "-c", _INTERPRETER],
                cwd=self.directory,
                env=self._outside.environ | _VARIABLES,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        given = {"text": block.text, "line": block.line, "page": str(self._page), "folder": str(self._folder)}
        print(json.dumps(given), file=self._python.stdin, flush=True)
        answer = json.loads(self._python.stdout.readline())
        assert answer["error"] is None, answer["error"]
        self._printed = answer["printed"]
