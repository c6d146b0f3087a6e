"""Manifests: JSON files that declare tools and tool groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:  # for OneClaw's own plugins: nothing is promised
    from oneclaw_core.manifests.manifest import MAX_MANIFEST_BYTES as MAX_MANIFEST_BYTES
    from oneclaw_core.manifests.manifest import Manifest as Manifest
    from oneclaw_core.manifests.manifest import ManifestTool as ManifestTool
    from oneclaw_core.manifests.manifest import parse_json as parse_json
    from oneclaw_core.manifests.manifest import parse_manifest as parse_manifest

__getattr__, __dir__, __all__ = lazy_names(__name__)
