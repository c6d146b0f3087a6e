import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

import pytest

from oneclaw_core.types.frozen_dataclass import frozen_dataclass

pytestmark = pytest.mark.every_python

Kind = TypeVar("Kind")


@frozen_dataclass
class Base:
    name: str
    KIND: ClassVar[str] = "a class attribute"


@frozen_dataclass
class Full(Base, Generic[Kind]):
    """Has fields of every sort."""

    number: int = 1
    parts: list[Kind] = field(default_factory=list)
    secret: str = field(default="s", repr=False)
    note: str = field(default="", compare=False)
    data: Any = field(default=None, hash=False)
    made: dict[str, int] = field(default_factory=dict, init=False)
    last: bool = field(default=False, kw_only=True)


@frozen_dataclass(kw_only=True)
class Named:
    size: int
    double: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "double", 2 * self.size)


@frozen_dataclass
class Own:
    value: int

    def __repr__(self) -> str:
        return f"<{self.value}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own)

    __hash__ = None  # type: ignore[assignment]


@frozen_dataclass
class Empty: ...


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    number: int = 1
    parts: list[int] = field(default_factory=list)


def test_it_takes_the_arguments_of_a_dataclass():
    full: Full[int] = Full("a", 2, last=True)
    assert (full.name, full.number, full.parts, full.secret, full.made, full.last) == ("a", 2, [], "s", {}, True)
    assert Full("a").parts is not Full("a").parts
    assert Full(name="b", parts=[1]).parts == [1]
    assert (Named(size=2).double, Empty(), full.KIND) == (4, Empty(), "a class attribute")
    for wrong in (
        lambda: Full(),
        lambda: Full("a", made={}),
        lambda: Named(2),
        lambda: Full("a", 1, [], "", "", 0, True),
    ):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            wrong()


def test_it_shows_the_same_signature_and_text_as_a_dataclass():
    @frozen_dataclass
    class Same:
        name: str
        number: int = 1
        parts: list[int] = field(default_factory=list)

    assert str(inspect.signature(Same.__init__)) == str(inspect.signature(Plain.__init__))
    assert Same.__init__.__qualname__ == f"{Same.__qualname__}.__init__"
    assert repr(Same("a")).partition(".")[2].endswith("Same(name='a', number=1, parts=[])")
    assert Same.__match_args__ == Plain.__match_args__
    assert repr(Full("a")) == "Full(name='a', number=1, parts=[], note='', data=None, made={}, last=False)"
    assert repr(Own(3)) == "<3>"


def test_it_cannot_be_changed():
    full: Full[int] = Full("a")
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'name'"):
        full.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'name'"):
        del full.name
    with pytest.raises(FrozenInstanceError):
        full.other = 1  # type: ignore[attr-defined]
    assert not hasattr(full, "__dict__")


def test_it_is_equal_and_hashed_by_its_fields():
    assert Base("a") == Base("a")
    assert Base("a") != Base("b")
    assert Base("a") != Full("a")
    assert Base("a") != "a"
    assert Full("a", note="x") == Full("a", note="y")
    assert Full("a", data=1) != Full("a", data=2)
    assert hash(Base("a")) == hash(Base("a"))
    assert {Base("a"): 1}[Base("a")] == 1
    assert Own(1) == Own(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(Own(1))
    with pytest.raises(TypeError, match="unhashable"):
        hash(Full("a"))
    assert hash(Empty()) == hash(Empty())


def test_the_functions_for_dataclasses_and_copies_work():
    full = Full("a", 2, [1], data={"x": 1})
    assert [each.name for each in fields(full)] == ["name", "number", "parts", "secret", "note", "data", "made", "last"]
    changed = replace(full, number=3)
    assert (changed.number, changed.parts, full.number) == (3, [1], 2)
    assert asdict(Base("a")) == {"name": "a"}
    for copied in (copy.copy(full), copy.deepcopy(full), pickle.loads(pickle.dumps(full))):
        assert copied == full
    assert copy.deepcopy(full).parts is not full.parts
    match Base("z"):
        case Base(name):
            assert name == "z"


def test_a_plain_dataclass_can_inherit_from_it_if_it_is_frozen():
    @dataclass(frozen=True)
    class Sub(Base):
        extra: int = 0

    assert repr(Sub("a", 2)).endswith("Sub(name='a', extra=2)")
    assert Sub("a", 2) == Sub("a", 2) != Sub("a", 3)
    assert hash(Sub("a", 2)) == hash(Sub("a", 2))
    with pytest.raises(FrozenInstanceError):
        Sub("a").extra = 1  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclass(type("Changing", (Base,), {"__annotations__": {}}))


def test_it_can_inherit_from_a_plain_frozen_dataclass():
    @frozen_dataclass
    class Sub(Plain):
        extra: int = 0

    assert (Sub("a", extra=2).extra, Sub("a", 5).number, Sub("a").parts) == (2, 5, [])


def test_a_plain_subclass_can_have_more_attributes():
    class Sub(Base):
        def __init__(self) -> None:
            super().__init__("a")
            self.extra = 1

    sub = Sub()
    sub.extra += 1
    assert (sub.name, sub.extra) == ("a", 2)
    del sub.extra
    with pytest.raises(FrozenInstanceError):
        sub.name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del sub.name


def test_the_types_of_its_arguments_can_be_found():
    assert get_type_hints(Base.__init__) == {"name": str, "return": type(None)}
    assert get_type_hints(Full.__init__)["data"] is Any
    written = frozen_dataclass(type("Written", (), {"__annotations__": {"of": "Base"}, "__module__": __name__}))
    assert get_type_hints(written.__init__) == {"of": Base, "return": type(None)}


def test_the_text_of_one_without_a_docstring_is_its_signature():
    assert Empty.__doc__ == "Empty()"
    assert (Base.__doc__ or "").startswith("Base(name")


def test_it_keeps_an_init_that_is_written():
    @frozen_dataclass
    class Written:
        size: int

        def __init__(self, text: str) -> None:
            object.__setattr__(self, "size", len(text))

    assert Written("abc").size == 3  # type: ignore[arg-type]


def test_one_that_holds_itself_can_be_shown():
    full: Full[Any] = Full("a")
    full.parts.append(full)
    assert "parts=[...]" in repr(full)
