"""Find the mutants of a package: one small change of its source each, made by mutmut's operators.

The operators alone are mutmut's. Its own search for mutants leaves out decorated functions, methods of decorated
classes, which are all dataclasses, and everything outside of functions.
"""

from __future__ import annotations

import inspect
import re
from collections import defaultdict
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable, Sequence
    from pathlib import Path

# mutmut leaves these calls alone, too: without their argument they raise at once.
_LEFT_ALONE = {"len", "isinstance"}
# Calls that matter to a type checker alone, or declare what a package exports (`release/public-api.txt` checks it).
_TYPES_ONLY = {"TypeVar", "ParamSpec", "NewType", "cast", "lazy_names"}
_LOGGING = re.compile(r"_?log(ger)?\.(debug|info|warning|error|exception|critical|log)")
_SQL = re.compile(
    r"\s*\W*(SELECT|INSERT|UPDATE|DELETE|CREATE|DROP|ALTER|PRAGMA|WITH|WHERE|AND|OR|ORDER|GROUP|JOIN|LEFT|BEGIN|COMMIT|FROM"
    r"|ROLLBACK|SAVEPOINT|RELEASE|UNION|LIMIT|ON|SET|VALUES|EXISTS|NOT|COALESCE|MAX|COUNT|SUM|VACUUM|ATTACH|DETACH)\b"
)


@dataclass(frozen=True)
class Mutant:
    """A change of one place in a module.

    Attributes:
        path: the module, relative to the repository.
        function: the qualified name of the function or class around it; empty at the top of the module.
        lines: the first and last line of the statement.
        operator: the name of mutmut's operator.
        before: the source that is changed.
        after: what takes its place.
        number: counts the mutants of the module.
    """

    path: str
    function: str
    lines: tuple[int, int]
    operator: str
    before: str
    after: str
    number: int

    @property
    def name(self) -> str:
        """A name that is unique as long as the module stays the same."""
        return f"{self.path}:{self.lines[0]}:{self.number}"

    def __str__(self) -> str:
        return f"{self.name} {self.function}\n  - {self.before}\n  + {self.after}"


class Module:
    """A module's source and its mutants."""

    def __init__(self, path: Path, root: Path) -> None:
        self.file = path
        self.source = path.read_text()
        self.path = str(path.relative_to(root))
        wrapper = MetadataWrapper(cst.parse_module(self.source))
        self._tree = wrapper.module
        finder = _Finder()
        wrapper.visit(finder)
        self._nodes = finder.found
        self.mutants = [
            Mutant(
                self.path,
                function,
                lines,
                operator,
                _one_line(self._tree.code_for_node(old)),
                _one_line(self._tree.code_for_node(new)),
                number,
            )
            for number, (old, new, operator, function, lines) in enumerate(finder.found)
        ]

    def mutated_source(self, mutant: Mutant) -> str | None:
        """The module's source with a mutant of it; None if that does not compile, or compiles to the same."""
        old, new, *_ = self._nodes[mutant.number]
        changed = self._tree.deep_replace(old, new)
        source = changed.code if isinstance(changed, cst.Module) else self.source
        try:
            before, after = (compile(text, self.path, "exec", dont_inherit=True) for text in (self.source, source))
        except SyntaxError:
            return None
        return None if before == after else source


class _Finder(cst.CSTVisitor):
    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[cst.CSTNode, cst.CSTNode, str, str, tuple[int, int]]] = []
        self._names: list[str] = []
        self._lines: list[tuple[int, int]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if _cannot_matter(node):
            return False
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.append(node.name.value)
        if isinstance(node, cst.BaseStatement | cst.ExceptHandler | cst.MatchCase | cst.Else | cst.Finally):
            self._lines.append(self._lines_of(node))
        elif isinstance(node, cst.IndentedBlock | cst.Annotation):
            return not isinstance(node, cst.Annotation)
        for kind, operator in mutation_operators:
            if self._lines and isinstance(node, kind):
                for changed in operator(node):
                    if not _is_sql_in_other_letters(node, changed):
                        name = operator.__name__.removeprefix("operator_")
                        self.found.append((node, changed, name, ".".join(self._names), self._lines[-1]))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        node = original_node
        if _cannot_matter(node):
            return
        if isinstance(node, cst.FunctionDef | cst.ClassDef):
            self._names.pop()
        if isinstance(node, cst.BaseStatement | cst.ExceptHandler | cst.MatchCase | cst.Else | cst.Finally):
            self._lines.pop()

    def _lines_of(self, node: cst.CSTNode) -> tuple[int, int]:
        """Return the lines of a statement; of a compound one, those before its body."""
        position = self.get_metadata(PositionProvider, node)
        body = getattr(node, "body", None)
        if isinstance(body, cst.IndentedBlock):
            first = self.get_metadata(PositionProvider, body.body[0]).start.line
            return position.start.line, max(position.start.line, first - 1)
        if isinstance(node, cst.Match):
            return position.start.line, position.start.line
        return position.start.line, position.end.line


def _cannot_matter(node: cst.CSTNode) -> bool:
    """True if no change within a node could be noticed when the program runs."""
    match node:
        case cst.Annotation() | cst.Import() | cst.ImportFrom() | cst.TypeAlias():
            return True
        case cst.FunctionDef(name=cst.Name("__repr__")):
            return True
        case cst.FunctionDef(decorators=decorators):
            return any(_dotted(each.decorator).endswith("overload") for each in decorators)
        case cst.If(test=cst.Name("TYPE_CHECKING")):
            return True
        case cst.Decorator(decorator=cst.Call(func=function)):
            # frozen and slots hold back a programmer, and a cache of another size holds the same.
            return _dotted(function) in {"dataclass", "dataclasses.dataclass", "lru_cache"}
        case cst.Call(func=function):
            name = _dotted(function)
            return name in _LEFT_ALONE | _TYPES_ONLY or _LOGGING.fullmatch(name) is not None
        case cst.Subscript(value=value):
            return _dotted(value) == "Literal"
        case cst.AnnAssign(annotation=cst.Annotation(annotation=cst.Name("TypeAlias"))):
            return True
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name("__all__" | "__slots__"))]):
            return True
    return False


def _dotted(node: cst.CSTNode) -> str:
    match node:
        case cst.Name(value=name):
            return name
        case cst.Attribute(value=value, attr=cst.Name(value=name)):
            return f"{_dotted(value)}.{name}"
    return ""


def _is_sql_in_other_letters(old: cst.CSTNode, new: cst.CSTNode) -> bool:
    """True if a string of SQL was changed in nothing but the case of its letters, which mean the same."""
    if not (isinstance(old, cst.SimpleString) and isinstance(new, cst.SimpleString)):
        return False
    return old.value.upper() == new.value.upper() and _SQL.match(old.raw_value) is not None


def _one_line(source: str) -> str:
    return " ".join(source.split())


def sample(modules: Sequence[Module], size: int, chosen: random.Random) -> list[tuple[Mutant, str]]:
    """Draw mutants, with their sources, from modules in proportion to the numbers of their mutants.

    Args:
        modules: of one package.
        size: the number of mutants; 0 for all.
        chosen: draws.
    """
    everything = sum(len(module.mutants) for module in modules)
    size = min(size or everything, everything)
    shares = [size * len(module.mutants) / everything for module in modules]
    numbers = [int(share) for share in shares]
    # What is left over is drawn, too: a module with a share of half a mutant gets one every second time.
    rests = [share - number for share, number in zip(shares, numbers, strict=True)]
    while sum(numbers) < size:
        index = chosen.choices(range(len(modules)), rests)[0]
        numbers[index] += 1
        rests[index] = 0
    drawn: list[tuple[Mutant, str]] = []
    for module, number in zip(modules, numbers, strict=True):
        drawn += _draw(module, number, chosen)
    return drawn


def _draw(module: Module, number: int, chosen: random.Random) -> Iterable[tuple[Mutant, str]]:
    found = 0
    for mutant in chosen.sample(module.mutants, len(module.mutants)):
        if found == number:
            return
        source = module.mutated_source(mutant)
        if source is not None:
            found += 1
            yield mutant, source


def changed_code(before: str, after: str, file: str) -> dict[CodeType, CodeType] | None:
    """Pair the code of the functions that differ between two versions of a module.

    Returns:
        The new code of each old one; None if something outside of functions differs, too.
    """
    old, new = (compile(source, file, "exec", dont_inherit=True) for source in (before, after))
    pairs: dict[CodeType, CodeType] = {}
    return pairs if _pair(old, new, pairs) else None


def _pair(old: CodeType, new: CodeType, pairs: dict[CodeType, CodeType]) -> bool:
    is_function = bool(old.co_flags & inspect.CO_OPTIMIZED)
    if is_function and old != new:
        pairs[old] = new
    elif not is_function and _outline(old) != _outline(new):
        return False
    inner = defaultdict[str, list[CodeType]](list)
    for code in _inner(new):
        inner[code.co_qualname].append(code)
    for code in _inner(old):
        found = inner[code.co_qualname]
        if found and not _pair(code, found.pop(0), pairs) and not is_function:
            return False
    return True


def _inner(code: CodeType) -> list[CodeType]:
    return [constant for constant in code.co_consts if isinstance(constant, CodeType)]


def _outline(code: CodeType) -> tuple[object, ...]:
    """Describe the code of a module or class without its functions and line numbers."""
    constants = [each.co_name if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts]
    return code.co_code, constants, code.co_names, code.co_exceptiontable
