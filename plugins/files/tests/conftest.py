from __future__ import annotations

import pytest


@pytest.fixture
def oneclaw_plugins():
    return ["files"]


@pytest.fixture
def project(oneclaw_project):
    return oneclaw_project
