"""The tools for models, with a model service on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@pytest.fixture
def service():
    """A service that lists two models."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):  # the library's name
            body = json.dumps({"object": "list", "data": [{"id": "small"}, {"id": "large"}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def lab(url):
    return ("create_provider", {"name": "lab", "type": "openai_compatible", "api_base_url": url})


def test_models_are_fetched_listed_and_chosen(talk, service):
    _, before, fetched, chosen, listed, wrong = talk(
        lab(service),
        ("list_models", {"provider_id": "lab"}),
        ("fetch_models", {"provider_id": "lab"}),
        ("set_default_model", {"provider_id": "lab", "model_id": "large"}),
        ("list_models", {"provider_id": "lab"}),
        ("set_default_model", {"provider_id": "lab", "model_id": "huge"}),
    )

    assert "No models of lab are known" in before.result
    assert fetched.result == "- small: listed by the service\n- large: listed by the service"
    assert chosen.result.startswith("The default model is lab/large.")
    assert "- large: listed by the service, default" in listed.result
    assert (wrong.error_type, "small, large" in wrong.error_message) == ("not_found", True)
    assert talk.asked[-1] == ("config.write", "change the default model from offline/rules to lab/large")


def test_a_fetched_list_keeps_what_was_added_by_hand_and_the_default(talk, service):
    *_, fetched = talk(
        lab(service),
        ("add_model", {"provider_id": "lab", "model_id": "mine", "display_name": "My Own"}),
        ("set_default_model", {"provider_id": "lab", "model_id": "mine"}),
        ("fetch_models", {"provider_id": "lab"}),
    )

    assert "- mine: My Own, added by the user, default" in fetched.result


def test_a_model_is_added_once_and_deleted_by_hand_only(talk, service):
    _, _, again, _, listed_twice, listed, default, _, deleted, gone = talk(
        lab(service),
        ("add_model", {"provider_id": "lab", "model_id": "mine"}),
        ("add_model", {"provider_id": "lab", "model_id": "mine"}),
        ("fetch_models", {"provider_id": "lab"}),
        ("add_model", {"provider_id": "lab", "model_id": "small"}),
        ("delete_model", {"provider_id": "lab", "model_id": "small"}),
        ("set_default_model", {"provider_id": "lab", "model_id": "mine"}),
        ("set_config", {"key": "model", "value": "offline/rules"}),
        ("delete_model", {"provider_id": "lab", "model_id": "mine"}),
        ("delete_model", {"provider_id": "lab", "model_id": "mine"}),
    )

    assert (again.error_type, listed_twice.error_type) == ("add_failed", "add_failed")
    assert listed.error_type == "permission_denied"
    assert default.is_success
    assert deleted.result == "Model lab/mine is removed."
    assert gone.error_type == "not_found"


def test_the_default_model_is_not_deleted(talk, service):
    *_, refused = talk(
        lab(service),
        ("add_model", {"provider_id": "lab", "model_id": "mine"}),
        ("set_default_model", {"provider_id": "lab", "model_id": "mine"}),
        ("delete_model", {"provider_id": "lab", "model_id": "mine"}),
    )

    assert refused.error_type == "deletion_failed"


@pytest.mark.parametrize(
    ("name", "arguments", "error_type"),
    [
        ("list_models", {"provider_id": "nobody"}, "not_found"),
        ("list_models", {"provider_id": " "}, "validation_error"),
        ("fetch_models", {"provider_id": "openai"}, "api_key_required"),
        ("set_default_model", {"provider_id": "nobody", "model_id": "x"}, "not_found"),
        ("set_default_model", {"provider_id": "openai", "model_id": ""}, "validation_error"),
        ("add_model", {"provider_id": "nobody", "model_id": "x"}, "not_found"),
        ("delete_model", {"provider_id": "openai", "model_id": "x"}, "not_found"),
    ],
)
def test_errors_of_the_model_tools(talk, name, arguments, error_type):
    (refused,) = talk((name, arguments))

    assert refused.error_type == error_type
    assert talk.asked == []


def test_a_service_that_is_not_there_is_told(talk):
    *_, fetched = talk(lab("http://127.0.0.1:1/v1"), ("fetch_models", {"provider_id": "lab"}))

    assert fetched.error_type == "fetch_failed"
