"""The program in the test's own process, and real environments with OneClaw in them beside an index on loopback."""

import pytest
from installations import make_installation, serve_index, unpack_pip
from program import home, install_plugin, ok, oneclaw

__all__ = ["home", "install_plugin", "ok", "oneclaw"]


@pytest.fixture
def wheels(tmp_path):
    """The folder whose wheels the index serves."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    return folder


@pytest.fixture
def index(wheels):
    with serve_index(wheels) as url:
        yield url


@pytest.fixture(scope="session")
def pip(tmp_path_factory):
    return unpack_pip(tmp_path_factory.mktemp("pip"))


@pytest.fixture
def with_pip(pip, tmp_path, index):
    return make_installation(tmp_path, index, pip)


@pytest.fixture
def with_uv(tmp_path, index):
    return make_installation(tmp_path, index)


@pytest.fixture(params=[pytest.param("with_pip", marks=pytest.mark.long), "with_uv"])
def installation(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def is_with_pip(request):
    return "with_pip" in request.fixturenames or request.node.callspec.params["installation"] == "with_pip"
