"""What pip and uv say about packages to be installed; the other tests here run them."""

from oneclaw_devtools.installing.package_manager import ResolvedPackage, read_lock_entry, read_report_entry
from oneclaw_devtools.installing.requirement import parse_requirement
from packaging.tags import sys_tags

SHA = "ab" * 32


def entry(origin, is_direct=True):
    return {"metadata": {"name": "Acme.Tools", "version": "1.0"}, "download_info": origin, "is_direct": is_direct}


def test_pip_reports_a_file_of_an_index():
    url = "https://example.com/acme_tools-1.0-py3-none-any.whl"
    # pip 22 has no "hashes".
    for archive in ({"hashes": {"sha256": SHA}}, {"hash": f"sha256={SHA}"}):
        found = read_report_entry(entry({"url": url, "archive_info": archive}, is_direct=False), [])
        assert found == ResolvedPackage("acme-tools", "1.0", url, SHA, "Acme.Tools==1.0")


def test_pip_reports_a_repository(tmp_path):
    origin = {
        "url": "https://example.com/acme",
        "vcs_info": {"vcs": "git", "commit_id": "c0ffee"},
        "subdirectory": "tools",
    }
    wanted = [parse_requirement("acme-tools @ git+https://example.com/acme@main#subdirectory=tools", tmp_path)]
    url = "git+https://example.com/acme@c0ffee#subdirectory=tools"
    assert read_report_entry(entry(origin), wanted) == ResolvedPackage(
        "acme-tools", "1.0", url, "", f"Acme.Tools @ {url}"
    )


def test_a_password_is_used_and_not_shown(tmp_path):
    url = "https://example.com/acme.whl"
    wanted = [parse_requirement("acme-tools @ https://somebody:a-password@example.com/acme.whl", tmp_path)]
    found = read_report_entry(entry({"url": url, "archive_info": {"hash": f"sha256={SHA}"}}), wanted)
    assert (found.url, found.pin) == (url, wanted[0].text)


def test_the_best_wheel_of_a_lock_is_chosen_else_the_sdist():
    best = next(iter(sys_tags()))
    files = [
        {"url": f"https://example.com/acme-1-{tag}.whl?token=x", "hashes": {"sha256": tag}}
        for tag in ("py3-none-any", f"{best.interpreter}-{best.abi}-{best.platform}", "cp36-cp36m-win32")
    ]
    sdist = {"url": "https://example.com/acme-1.tar.gz", "hashes": {"sha256": "source"}}
    package = {"name": "acme", "version": "1", "wheels": files, "sdist": sdist}
    found = read_lock_entry(package, "acme==1", None)
    assert (found.url, found.sha256) == (files[1]["url"], files[1]["hashes"]["sha256"])
    assert read_lock_entry(package | {"wheels": files[2:]}, "acme==1", None).sha256 == "source"
