"""Check what the workflow of a release does. The scripts that it starts need the network."""

import json
import re

import pytest
import yaml
from check_tag import find_faults
from conftest import ROOT
from sbom import add_origins, without_places
from set_version import current_version

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def workflow():
    return yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_to_a_commit(path):
    used = re.findall(r"uses: (.*)", path.read_text("utf-8"))
    assert used
    assert [each for each in used if not re.match(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []


def test_no_job_has_a_token_of_the_package_index():
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8")
    assert "secrets." not in text
    assert not re.search(r"^\s*(password|user|token):", text, re.MULTILINE)


def test_jobs_that_sign_or_publish_run_no_code_of_the_repository():
    jobs = workflow()["jobs"]
    trusted = {name: job for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert set(trusted) == {"attest", "publish", "announce"}
    for name, job in trusted.items():
        assert "github.ref_type == 'tag'" in job["if"], name
        assert not [step for step in job["steps"] if "checkout" in step.get("uses", "")], name
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert workflow()["permissions"] == {}


def test_the_scripts_of_the_workflow_are_there():
    named = re.findall(r"python (release/\w+\.py)", (ROOT / ".github" / "workflows" / "release.yml").read_text("utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_the_tag_of_this_version_is_right_and_another_is_not(tmp_path):
    for project in ("pyproject.toml", *(str(each.relative_to(ROOT)) for each in ROOT.glob("plugins/*/pyproject.toml"))):
        (tmp_path / project).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / project).write_bytes((ROOT / project).read_bytes())
    (tmp_path / "CHANGELOG.md").write_text(f"# Changes\n\n## {current_version()} - 2026-11-28\n")

    assert find_faults(f"v{current_version()}", tmp_path) == []
    assert "CHANGELOG.md does not begin with 9.9.9 and a date" in find_faults("v9.9.9")
    assert "the tag release does not begin with v" in find_faults("release")


def test_an_sbom_names_hashes_and_no_places_of_the_machine(tmp_path):
    wheel = tmp_path / "oneclaw_pdf-0.2.0-py3-none-any.whl"
    wheel.write_bytes(b"")
    place = {"type": "distribution", "url": "file:///home/ada/dist/oneclaw_pdf-0.2.0-py3-none-any.whl"}
    document = without_places(
        {
            "metadata": {"component": {"name": "oneclaw-core", "version": "0.2.0", "externalReferences": [place]}},
            "components": [
                {"name": "oneclaw-pdf", "version": "0.2.0", "externalReferences": [place]},
                {"name": "pillow", "version": "13.0", "purl": "pkg:pypi/pillow@13.0"},
            ],
        }
    )

    add_origins(document, [wheel])

    pdf, pillow = document["components"]
    assert pdf["purl"] == "pkg:pypi/oneclaw-pdf@0.2.0"
    assert pdf["hashes"][0]["content"].startswith("e3b0c442")
    assert "hashes" not in pillow
    assert "file:" not in json.dumps(document)
