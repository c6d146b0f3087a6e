"""Python that authors read: lay it out as modules, so that type checkers see all of it at once.

The code blocks of a page become the package ``PAGE.version_1``. A block that is a file (see :class:`Block`) has the
file's name there; another is ``line_N``, N being its line on the page, and may use what the blocks before it define.
When a page writes a file again, the blocks from there on become ``PAGE.version_2``, with the other files of before.
Lines keep their numbers.

tox runs this in the environment ``types``, with the folder to write to.
"""

import ast
import re
import sys
from pathlib import Path, PurePath

from documentation_pages import PAGES, PLUGIN_PAGES, ROOT, blocks_of
from oneclaw_devtools.scaffold.files import PluginDetails, plugin_files
from oneclaw_devtools.scaffold.names import plugin_names

import oneclaw_core

_NEW_PLUGIN = re.compile(r"^\$ oneclaw plugins new (\S+)", re.MULTILINE)
_NO_NAME = re.compile(r"\W+")


def write_code_of_authors(folder):
    """Write the code of all pages, of the scaffold and of the example plugins into a folder."""
    for page in (*PAGES, *PLUGIN_PAGES):
        _write_page(page, folder)
    _Package(folder, "scaffold").add_files(scaffold_of("acme-greeter"))
    for example in sorted((ROOT / "examples" / "plugins").glob("*")):
        _Package(folder, f"examples_{_name(example.stem)}").add_files(_files_of_example(example))


def scaffold_of(name):
    """Give the Python files of the package that ``oneclaw plugins new NAME`` makes."""
    details = PluginDetails(
        names=plugin_names(name), author="Ada", description="Greet.", core_version=oneclaw_core.__version__, year=2026
    )
    return {path: text for path, text in plugin_files(details).items() if path.endswith(".py")}


def _files_of_example(example):
    """Give the Python files of an example, a folder or a single file; its tests are no example."""
    root = example if example.is_dir() else example.parent
    paths = sorted(example.rglob("*.py")) if example.is_dir() else [example]
    return {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in paths
        if path.suffix == ".py"
        and not path.name.startswith(("test_", "conftest"))
        and "tests" not in path.relative_to(root).parts
    }


def _write_page(page, folder):
    package = _Package(folder, _name(page.relative_to(ROOT).with_suffix("").as_posix()))
    for block in blocks_of(page):
        if block.language == "console" and block.directive != "not run":
            for name in _NEW_PLUGIN.findall(block.text):
                package.add_files(scaffold_of(name))
        elif block.language == "python" and block.directive == "file":
            package.add_files({block.value: "\n" * (block.line - 1) + block.text})
        elif block.language == "python" and block.directive != "faulty file":
            package.add_block(block)


class _Package:
    """The modules of a page.

    Args:
        folder: where all pages lie.
        name: of the page.
    """

    def __init__(self, folder, name):
        self._folder = folder
        self._name = f"{name}.version_1"
        self._version = 1
        self._files = {}
        self._imports = {}

    def add_files(self, files):
        """Write files of a plugin's package, text by path."""
        if self._files.keys() & files.keys():
            self._version += 1
            self._name = f"{self._name.partition('.')[0]}.version_{self._version}"
        self._files |= files
        for path, text in self._files.items():
            self._write(path, self._rewritten(text))

    def add_block(self, block):
        """Write a block that is no file, with imports of what it uses of the blocks before."""
        text = self._rewritten(block.text)
        tree = ast.parse(text)
        module = f"line_{block.line}"
        bound = dict(_bindings(tree, f"{self._name}.{module}"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imports = [self._imports[name] for name in sorted(used - bound.keys()) if name in self._imports]
        self._write(f"{module}.py", "; ".join(imports) + "\n" * (block.line - 1) + text)
        self._imports |= bound

    def _rewritten(self, text):
        """Let imports of the page's own modules find them where they lie."""
        own = {PurePath(path).parts[0].removesuffix(".py") for path in self._files}
        names = "|".join(map(re.escape, own))
        if not own:
            return text
        text = re.sub(rf"^(\s*)import ({names})$", rf"\1from {self._name} import \2", text, flags=re.MULTILINE)
        return re.sub(rf"^(\s*from )(?=({names})\b)", rf"\1{self._name}.", text, flags=re.MULTILINE)

    def _write(self, path, text):
        target = self._folder.joinpath(*self._name.split("."), path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        for folder in target.relative_to(self._folder).parents[:-1]:
            (self._folder / folder / "__init__.py").touch()


def _bindings(tree, module):
    """Give the statements that import what a module defines or imports, by name."""
    for statement in tree.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for alias in statement.names:
                yield (alias.asname or alias.name).partition(".")[0], _import_of(statement, alias)
        elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield statement.name, f"from {module} import {statement.name}"
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id, f"from {module} import {node.id}"


def _import_of(statement, alias):
    if isinstance(statement, ast.Import):
        return ast.unparse(ast.Import([alias]))
    return ast.unparse(ast.ImportFrom(statement.module, [alias], statement.level))


def _name(text):
    return _NO_NAME.sub("_", text).lower()


if __name__ == "__main__":
    write_code_of_authors(Path(sys.argv[1]))
