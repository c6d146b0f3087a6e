"""``openai`` for Python."""

import base64

import openai
from checks import KEY, MODEL, PIXEL, URL, run

client = openai.OpenAI(base_url=URL, api_key=KEY)
IMAGE = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"


def user(text):
    return {"role": "user", "content": text}


def ask(messages, **options):
    return client.chat.completions.create(model=MODEL, messages=messages, **options).choices[0].message.content


def chat():
    first = ask([user("Hi")])
    return [first, ask([user("Hi"), {"role": "assistant", "content": first}, user("And again")])]


def stream(text):
    chunks = client.chat.completions.create(
        model=MODEL, messages=[user(text)], stream=True, stream_options={"include_usage": True}
    )
    return (each.choices[0].delta.content or "" for each in chunks if each.choices)


def image():
    return ask([user([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": IMAGE}}])])


def cancel():
    with client.chat.completions.create(model=MODEL, messages=[user("endless")], stream=True) as chunks:
        for each in chunks:
            if each.choices[0].delta.content:
                break


def status(error):
    return getattr(error, "status_code", None)


run(chat, stream, image, cancel, lambda: ask([user("fail")]), lambda: ask([user("Hi")], n=2), status)
