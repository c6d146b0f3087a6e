"""``langchain-openai``."""

import base64

from checks import KEY, MODEL, PIXEL, URL, run
from langchain_core.messages import AIMessage, HumanMessage
from langchain_openai import ChatOpenAI

model = ChatOpenAI(base_url=URL, api_key=KEY, model=MODEL, temperature=0.5)
IMAGE = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"


def chat():
    first = model.invoke([HumanMessage("Hi")]).content
    return [first, model.invoke([HumanMessage("Hi"), AIMessage(first), HumanMessage("And again")]).content]


def stream(text):
    return (each.content for each in model.stream([HumanMessage(text)]))


def image():
    parts = [{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": IMAGE}}]
    return model.invoke([HumanMessage(parts)]).content


def cancel():
    chunks = model.stream([HumanMessage("endless")])
    for each in chunks:
        if each.content:
            break
    chunks.close()


def status(error):
    return getattr(error, "status_code", None)


run(
    chat,
    stream,
    image,
    cancel,
    lambda: model.invoke([HumanMessage("fail")]),
    lambda: ChatOpenAI(base_url=URL, api_key=KEY, model=MODEL, n=2).invoke([HumanMessage("Hi")]),
    status,
)
