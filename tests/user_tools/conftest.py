import pytest
from own_tools import OwnTools


@pytest.fixture
def own(tmp_path):
    return OwnTools(tmp_path / "home")
