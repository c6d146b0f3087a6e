"""``llm``, with the model in its ``extra-openai-models.yaml``."""

import json
import os
import pathlib
import sys
import tempfile

from checks import KEY, MODEL, PIXEL, URL, run

folder = pathlib.Path(tempfile.mkdtemp())
os.environ["LLM_USER_PATH"] = str(folder)
entry = {"model_id": "agent", "model_name": MODEL, "api_base": URL, "api_key_name": "oneclaw", "vision": True}
(folder / "extra-openai-models.yaml").write_text(json.dumps([entry]))  # JSON is YAML

import llm  # noqa: E402  # reads the variable

model = llm.get_model("agent")
model.key = KEY


def chat():
    conversation = model.conversation()
    return [conversation.prompt("Hi", stream=False).text(), conversation.prompt("And again", stream=False).text()]


def stream(text):
    return iter(model.prompt(text))


def image():
    attached = llm.Attachment(type="image/png", content=PIXEL)
    return model.prompt("Look", attachments=[attached], stream=False).text()


def cancel():
    for each in model.prompt("endless"):
        if each:
            print("{}", flush=True)
            os._exit(0)  # what Ctrl-C does: it cannot close a stream


def status(error):
    return getattr(error, "status_code", getattr(error.__cause__, "status_code", None))


run(
    chat,
    stream,
    image,
    cancel,
    lambda: model.prompt("fail", stream=False).text(),
    lambda: model.prompt("Hi", stream=False, logit_bias={"1": 5}).text(),
    status,
)
sys.exit(0)
