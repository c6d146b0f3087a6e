"""What the tools send, compared with what Google's own client library would send.

Every tool is called against the stand-in, and each of its requests, parts of batches included, is built a second time
by google-api-python-client. Compared are verb, host, path, query and body of each call, and of uploads the request that
announces them. Not compared are headers, and how calls are wrapped, which the library makes up only as it sends: the
boundaries and content ids of batches, and the pieces of uploads.
"""

import pytest
from google_client_library import as_google_would, as_we_sent_it
from google_desk import make_home, stand_in
from google_tour import take_the_tour
from oneclaw_google_workspace.methods import METHODS
from oneclaw_google_workspace.scopes import TOOL_SCOPES

# Eight seconds. In the tests of each service, the stand-in compares requests with Google's descriptions.
pytestmark = [pytest.mark.long, pytest.mark.one_python]


@pytest.fixture(scope="module")
def tour(tmp_path_factory, service_key):
    """The stand-in, after all tools were called, and their names."""
    with pytest.MonkeyPatch.context() as monkeypatch, stand_in(monkeypatch) as google:
        home = make_home(tmp_path_factory.mktemp("tour") / "home", monkeypatch)
        yield google, take_the_tour(google, home, service_key, monkeypatch)


def test_the_tour_calls_every_tool(tour):
    _, called = tour

    assert set(called) == set(TOOL_SCOPES)
    assert len(TOOL_SCOPES) == 71


# Few tests, so that they stay in one process, which makes the tour once.
@pytest.mark.parametrize("service", sorted({each.partition(".")[0] for each in METHODS}))
def test_methods_are_called_as_by_googles_own_client_library(tour, service):
    google, _ = tour
    methods = {each for each in METHODS if each.partition(".")[0] == service}
    sent = [each for each in google.requests if each.method_id in methods]

    missing = methods - {each.method_id for each in sent}
    assert not missing, "no tool calls them; take them out of the table, or add calls to google_tour.py"
    for each in sent:
        assert as_we_sent_it(each) == as_google_would(each), each.method_id


def test_uploads_are_announced_as_by_googles_own_client_library(tour):
    google, _ = tour
    announced = [each.method_id for each in google.requests if each.target.startswith("/upload/")]

    assert set(announced) == {
        "drive.files.create",
        "drive.files.update",
        "gmail.users.drafts.create",
        "gmail.users.messages.send",
    }
