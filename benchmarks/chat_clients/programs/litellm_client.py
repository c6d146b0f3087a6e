"""``litellm``."""

import base64

import litellm
from checks import KEY, MODEL, PIXEL, URL, run

litellm.suppress_debug_info = True
IMAGE = f"data:image/png;base64,{base64.b64encode(PIXEL).decode()}"


def user(text):
    return {"role": "user", "content": text}


def complete(messages, **options):
    return litellm.completion(model=f"openai/{MODEL}", api_base=URL, api_key=KEY, messages=messages, **options)


def ask(messages, **options):
    return complete(messages, **options).choices[0].message.content


def chat():
    first = ask([user("Hi")])
    return [first, ask([user("Hi"), {"role": "assistant", "content": first}, user("And again")])]


def stream(text):
    return (each.choices[0].delta.content or "" for each in complete([user(text)], stream=True))


def image():
    return ask([user([{"type": "text", "text": "Look"}, {"type": "image_url", "image_url": {"url": IMAGE}}])])


def cancel():
    chunks = complete([user("endless")], stream=True)
    for each in chunks:
        if each.choices[0].delta.content:
            break
    chunks.completion_stream.close()


def status(error):
    return getattr(error, "status_code", None)


run(chat, stream, image, cancel, lambda: ask([user("fail")]), lambda: ask([user("Hi")], n=2), status)
