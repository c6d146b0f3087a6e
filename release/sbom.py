"""Write the SBOM: ``python release/sbom.py``, after ``release/check_wheels.py``, whose environment it describes.

``build/oneclaw-VERSION.cdx.json`` is in the format CycloneDX 1.6. It lists OneClaw's distributions and everything that
they brought into an empty environment on the day of the release, with versions, licences and who requires what. The
same environment gives the same file.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from check_wheels import ENVIRONMENT, ROOT

if TYPE_CHECKING:
    from pathlib import Path

CYCLONEDX = "cyclonedx-bom>=7.5,<8"
_ARGUMENTS = ("--spec-version", "1.6", "--output-format", "JSON", "--output-reproducible", "--validate")


def describe(environment: Path) -> dict[str, Any]:
    """Return the SBOM of an environment, as CycloneDX's own tool makes and validates it."""
    command = ["uvx", "--from", CYCLONEDX, "cyclonedx-py", "environment", *_ARGUMENTS]
    described = [*command, "--mc-type", "application", "--pyproject", str(ROOT / "pyproject.toml"), str(environment)]
    done = subprocess.run(described, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"cyclonedx-py failed:\n{done.stderr}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def without_places(part: Any) -> Any:
    """Remove references to files of this machine, such as where a wheel was installed from."""
    if isinstance(part, list):
        return [without_places(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: without_places(value) for name, value in part.items()}
    for name in ("externalReferences", "properties"):
        if isinstance(kept.get(name), list):
            kept[name] = [each for each in kept[name] if "file://" not in json.dumps(each)]
            if not kept[name]:
                del kept[name]
    return kept


def add_origins(document: dict[str, Any], wheels: list[Path]) -> None:
    """Say of each of OneClaw's distributions where it is published, and what the hash of its wheel is."""
    digests = {path.name.partition("-")[0]: hashlib.sha256(path.read_bytes()).hexdigest() for path in wheels}
    components: list[dict[str, Any]] = [*document["components"], document["metadata"]["component"]]
    for component in components:
        name = str(component["name"])
        if digest := digests.get(name.replace("-", "_")):
            component["purl"] = f"pkg:pypi/{name}@{component['version']}"
            component["hashes"] = [{"alg": "SHA-256", "content": digest}]


def main() -> None:
    """Write the file."""
    if not ENVIRONMENT.exists():
        sys.exit("there is no build/environment: run release/check_wheels.py first")
    wheels = sorted((ROOT / "dist").glob("*.whl"))
    version = wheels[0].name.split("-")[1]
    document = without_places(describe(ENVIRONMENT))
    add_origins(document, wheels)
    path = ROOT / "build" / f"oneclaw-{version}.cdx.json"
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    others = len(document["components"]) + 1 - len(wheels)  # the core is what the document is about
    print(f"{path.relative_to(ROOT)}: {len(wheels)} distributions of OneClaw, {others} others")


if __name__ == "__main__":
    main()
