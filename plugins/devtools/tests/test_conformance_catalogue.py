"""All checks are named, explained, and reached by what the loader reports."""

import re
from pathlib import Path

from broken_plugins.kinds import KINDS
from oneclaw_devtools.conformance.catalogue import CHECKS, problem_findings
from oneclaw_devtools.conformance.facts import ProblemFacts

import oneclaw_core

CORE = Path(oneclaw_core.__file__).parent
REPORTED = sorted(
    {
        found
        for module in (CORE / "plugins").rglob("*.py")
        if module.name != "child_description.py"  # reports what the check finds by itself
        for found in re.findall(
            r'"((?:hooks|import|names|groups|package|permissions|skills|manifests)\.[a-z-]+)"',
            module.read_text(encoding="utf-8"),
        )
    }
)


def test_every_check_says_what_it_finds_and_what_to_do():
    assert len(CHECKS) > 80
    for name, check in CHECKS.items():
        assert re.fullmatch(r"[a-z]+\.[a-z-]+", name)
        assert check.about
        assert check.remedy
        assert not check.about.endswith(".")


def test_whatever_the_loader_reports_is_a_finding():
    assert len(REPORTED) > 15
    for name in REPORTED:
        problem = ProblemFacts("import", "something is wrong", "fix it", True, check=name)
        assert [each.check for each in problem_findings([problem])] == [name]


def test_what_the_loader_may_report_in_the_future_is_not_lost():
    (found,) = problem_findings([ProblemFacts("compatibility", "made for another", "upgrade it", True)])
    assert (found.check, found.remedy) == ("hooks.refused", "upgrade it")


def test_the_broken_plugins_cover_what_can_be_an_error():
    shown = {find for kind in KINDS.values() for find in kind.finds}
    of_projects = {name for name in CHECKS if name.startswith(("package.", "capabilities."))}
    assert len(shown) > 60
    assert len(CHECKS.keys() - shown - of_projects) < 35


def test_the_documentation_lists_them_all():
    page = (Path(__file__).parents[3] / "docs" / "plugin-checks.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z]+\.[a-z-]+)` \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert listed == sorted((name, str(check.severity), check.about) for name, check in CHECKS.items())
