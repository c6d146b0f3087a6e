"""The checks of the programs in Python: each prints one line of JSON."""

import base64
import json
import os
import sys
import time

URL, KEY = os.environ["ONECLAW_V1"], os.environ["ONECLAW_TOKEN"]
MODEL = "General Assistant"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/q842iQAAAABJRU5ErkJggg=="
)


def run(chat, stream, image, cancel, fail, ask_for_two, status):
    """Do the check that the command line names."""
    check = sys.argv[1]
    if check == "chat":
        found = {"texts": chat()}
    elif check == "stream":
        pieces = [each for each in stream("silent") if each]
        found = {"text": "".join(pieces), "pieces": len(pieces)}
    elif check == "image":
        found = {"text": image()}
    elif check == "cancel":
        cancel()
        found = {}
    else:
        found = {"fail": raised(fail, status), "two": raised(ask_for_two, status)}
    print(json.dumps(found), flush=True)
    if check == "cancel":
        time.sleep(5)  # the turn ends because the client has left, and not because its process ends


def raised(work, status):
    """Return the status and the message of the error that work raises."""
    try:
        return {"status": None, "message": f"no error: {work()!r}"}
    except Exception as error:  # each client has other errors
        return {"status": status(error), "message": str(error)}
