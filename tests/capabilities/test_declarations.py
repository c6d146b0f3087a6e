"""`capabilities.json`: found beside the entry module, in a folder and in a wheel, without running code."""

import json
import zipfile
from importlib.resources import files

import jsonschema
import pytest

from oneclaw_core.capabilities import Capability, DeclarationError, read_declaration

DECLARED = {
    "format": 1,
    "hosts": [{"name": "*.example.com", "reason": "looks up parcels"}],
    "files": [{"path": "labels/*.pdf", "access": "read and write", "reason": "prints labels"}],
    "programs": [{"name": "lp", "reason": "prints"}],
    "services": [{"name": "sessions", "reason": "finds earlier parcels"}],
    "secrets": [{"name": "account.*", "reason": "signs in"}],
}


def write(path, document=DECLARED):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))


def test_the_example_fits_the_schema():
    schema = json.loads(files("oneclaw_core.capabilities").joinpath("capabilities.schema.json").read_bytes())

    jsonschema.Draft202012Validator(schema).validate(DECLARED)


@pytest.mark.parametrize(
    ("module", "file"),
    [
        ("acme", "acme/capabilities.json"),
        ("acme:plugin", "acme/capabilities.json"),
        ("acme.plugin", "acme/capabilities.json"),
        ("single", "single.capabilities.json"),
    ],
)
def test_it_lies_beside_the_entry_module(tmp_path, module, file):
    (tmp_path / "acme").mkdir()
    write(tmp_path / file)

    declared = read_declaration("acme", module, tmp_path)

    assert declared.reasons[Capability("host", "*.example.com")] == "looks up parcels"
    assert {each.kind for each in declared.capabilities} == {
        *("host", "read", "write", "program", "home service", "stored secret")
    }


def test_it_is_read_from_a_wheel(tmp_path):
    wheel = tmp_path / "acme-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("acme/__init__.py", "raise SystemExit")
        archive.writestr("acme/capabilities.json", json.dumps(DECLARED))

    declared = read_declaration("acme", "acme", zipfile.Path(wheel))

    assert Capability("program", "lp") in declared.capabilities


def test_a_plugin_without_one_may_do_anything(tmp_path):
    declared = read_declaration("acme", "acme", tmp_path)

    assert declared.reasons is None
    assert declared.allows_host("anywhere.example.org")
    assert [each.kind for each in declared.capabilities] == ["undeclared"]


def test_what_it_names_is_allowed_and_nothing_else(tmp_path):
    write(tmp_path / "acme" / "capabilities.json")

    declared = read_declaration("acme", "acme", tmp_path)

    assert declared.allows_host("API.example.com")
    assert not declared.allows_host("example.org")
    assert declared.allows_file("write", ["labels/one.pdf"])
    assert not declared.allows_file("read", ["labels/one.txt", "/home/me/one.txt"])
    assert declared.allows("stored secret", "account.token")
    assert not declared.allows("home service", "agents")


@pytest.mark.parametrize(
    ("document", "place"),
    [
        ("{", "not JSON"),
        ({"format": 2}, "/format"),
        ({"format": 1, "networks": []}, "/networks"),
        ({"format": 1, "hosts": {}}, "/hosts"),
        ({"format": 1, "hosts": ["example.com"]}, "/hosts/0"),
        ({"format": 1, "hosts": [{"name": "example.com"}]}, "/hosts/0"),
        ({"format": 1, "hosts": [{"name": "example.com", "reason": "a\nb"}]}, "/hosts/0/reason"),
        ({"format": 1, "files": [{"path": "*", "access": "run", "reason": "x"}]}, "/files/0/access"),
    ],
)
def test_a_fault_is_named_with_its_place(tmp_path, document, place):
    write(tmp_path / "acme" / "capabilities.json", document)

    with pytest.raises(DeclarationError, match=place):
        read_declaration("acme", "acme", tmp_path)
