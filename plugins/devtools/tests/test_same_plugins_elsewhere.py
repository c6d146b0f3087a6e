"""`oneclaw plugins sync FILE` rebuilds the plugins of another home."""

import json
from hashlib import sha256

import pytest
from installations import write_wheel

pytestmark = pytest.mark.one_python


@pytest.mark.long
def test_the_file_of_another_home_gives_the_same_versions(with_uv, wheels, tmp_path):
    old = write_wheel(wheels, "acme-tools")
    write_wheel(wheels, "acme-tools", "2.0")
    write_wheel(wheels, "acme-other")
    document = {
        "format": 1,
        "plugins": [
            {
                "name": "acme-tools",
                "requirement": "acme-tools",
                "version": "1.0",
                "sha256": sha256(old.read_bytes()).hexdigest(),
            },
            {"name": "acme-other", "requirement": "acme-other<2", "version": "1.0", "sha256": "0" * 64},
        ],
    }
    file = tmp_path / "plugins-of-another-home.json"
    file.write_text(json.dumps(document))

    done = with_uv.oneclaw("plugins", "sync", "--dry-run", file)
    assert "acme-tools: it is not installed; would be installed: acme-tools==1.0" in done.stdout
    done = with_uv.oneclaw("plugins", "sync", "--yes", file)

    assert done.returncode == 0, done.stderr
    assert {each["name"]: each["version"] for each in with_uv.recorded()} == {"acme-tools": "1.0", "acme-other": "1.0"}
    assert "this is another file than the one installed before, sha256 000" in done.stderr  # of acme-other
    assert with_uv.oneclaw("plugins", "sync", file).stdout == "nothing is missing\n"
