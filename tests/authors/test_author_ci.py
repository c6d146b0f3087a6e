"""What the author of a plugin runs, and what the author's CI runs, with only our built wheels and the package index.

They install packages. The environment ``third-party`` runs the first of them.
"""

import re
import shutil
from pathlib import Path

import pytest
import yaml
from how_long import some
from outside import TOX, Outside, built_wheels, interpreters, outside

__all__ = ["built_wheels", "outside"]  # fixtures

pytestmark = [pytest.mark.one_python, pytest.mark.long]

NAMES = ["acme-parcels", "Acme.Tables_2", "oneclaw-long-" + "x" * 20, "x2"]
ALL_VERSIONS = sorted(interpreters(), key=lambda version: int(version.partition(".")[2]))
AUTHOR = ["oneclaw-core[standard]", "build", *TOX]
EXPRESSION = re.compile(r"\$\{\{ *matrix\.(\w+) *\}\}")


@pytest.fixture(scope="module")
def author(tmp_path_factory, built_wheels):
    """An environment after `pip install "oneclaw-core[standard]" build tox`."""
    return Outside(tmp_path_factory.mktemp("author") / "outside", built_wheels).make(*AUTHOR)


def make_package(author, name, *, directory=None):
    directory = directory or f"my {name}"
    author.run(f"oneclaw plugins new {name} --directory '{directory}' --author 'Ada Ünïcode'", author.folder)
    [project] = (author.folder / directory).glob("*/pyproject.toml")
    return project.parent


@pytest.mark.parametrize("name", some(NAMES, 4))
def test_a_new_package_passes_its_whole_tox(author, name):
    author.run_tox(make_package(author, name))


def steps_of(workflow):
    """List the jobs of a workflow, each with the Python that it sets up and its commands."""
    for name, job in workflow["jobs"].items():
        matrix = job.get("strategy", {}).get("matrix", {})
        for values in [{"python": python} for python in matrix.get("python", [])] or [{}]:

            def filled(text, values=values):
                return EXPRESSION.sub(lambda match: values[match[1]], str(text))

            [version] = [
                filled(step["with"]["python-version"])
                for step in job["steps"]
                if step.get("uses", "").startswith("actions/setup-python@")
            ]
            yield name, version, [filled(step["run"]) for step in job["steps"] if "run" in step]


def test_the_steps_of_its_workflow_pass(author, tmp_path, built_wheels):
    package = make_package(author, "acme-parcels")
    workflow = yaml.safe_load((package / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    jobs = [job for job in steps_of(workflow) if job[1] in ALL_VERSIONS]
    checks = [job for job in jobs if job[0] == "checks"]
    if not checks:  # the version that it names is not here
        checks = [(name, ALL_VERSIONS[0], runs) for name, _, runs in steps_of(workflow) if name == "checks"]
    tests = [job for job in jobs if job[0] == "tests"]
    for number, (_, version, commands) in enumerate([*checks, *tests]):
        runner = Outside(tmp_path / f"runner {number}", built_wheels).make(*TOX[1:], version=version)
        checked_out = shutil.copytree(package, runner.folder / "checkout")
        assert commands
        for command in commands:
            runner.run(command, checked_out, CI="true")


def test_the_commands_of_its_readme_work(author):
    package = make_package(author, "acme-parcels", directory=".")
    [block] = re.findall(r"## Work on it\n+```sh\n(.*?)```", (package / "README.md").read_text(), re.DOTALL)
    printed = author.run(block, package)
    assert "passed" in printed
    assert '"words":' in printed or "words" in printed


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_its_wheel_is_installed_checked_and_removed(outside, version):
    author = outside.make(*AUTHOR, version=version)
    package = make_package(author, "acme.greeter")
    author.run("python -m build --quiet .", package)
    [wheel] = (package / "dist").glob("acme_greeter-0.1.0-*.whl")
    [sdist] = (package / "dist").glob("acme_greeter-0.1.0.tar.gz")
    assert sdist.stat().st_size
    where = author.run("python -c 'import oneclaw_core, oneclaw_devtools as tools; print(oneclaw_core.__file__)'", "/")
    assert Path(where.strip()).is_relative_to(author.folder), "the checkout is imported"

    author.run(f"oneclaw plugins install --yes '{wheel}'", author.folder)
    assert "acme_greeter_count_words" in author.run("oneclaw tools list --json", author.folder)
    author.run("oneclaw plugins check acme_greeter --allow files.read", author.folder)
    author.run("oneclaw plugins sync --dry-run", author.folder)
    author.run("oneclaw plugins uninstall --yes acme-greeter", author.folder)
    assert "acme_greeter_count_words" not in author.run("oneclaw tools list --json", author.folder)


def test_uv_runs_it_too(outside):
    author = outside.make(*AUTHOR)
    package = make_package(author, "acme-parcels")
    shutil.rmtree(author.programs.parent)
    author.run("uv run --extra test pytest -q && uv run --extra test oneclaw plugins check --allow files.read", package)
    author.run("uvx --with tox-uv tox -q", package)
