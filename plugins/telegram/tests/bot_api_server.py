"""A Bot API server on loopback that refuses what the published methods do not take, as of Bot API 10.3."""

import json
import threading
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "123456789:AAabcdefghijklmnopqrstuvwxyz_0123456"
OWNER = {"id": 7, "is_bot": False, "first_name": "Anna"}
STRANGER = {"id": 666, "is_bot": False, "first_name": "Eve"}
GROUP = {"id": -100, "type": "supergroup", "title": "Family"}

_TO_CHAT = {"chat_id": (int, str), "message_thread_id": int, "reply_parameters": dict, "reply_markup": dict}
# The parameters that the plugin may use; the first ones listed under "required" must be there.
METHODS = {
    "getMe": ((), {}),
    "getUpdates": ((), {"offset": int, "limit": int, "timeout": int, "allowed_updates": list}),
    "deleteWebhook": ((), {"drop_pending_updates": bool}),
    "setWebhook": (("url",), {"url": str, "secret_token": str, "allowed_updates": list, "max_connections": int}),
    "setMyCommands": (("commands",), {"commands": list}),
    "sendMessage": (
        ("chat_id", "text"),
        {**_TO_CHAT, "text": str, "entities": list, "link_preview_options": dict, "disable_notification": bool},
    ),
    "editMessageText": (
        ("chat_id", "message_id", "text"),
        {
            "chat_id": (int, str),
            "message_id": int,
            "text": str,
            "entities": list,
            "link_preview_options": dict,
            "reply_markup": dict,
        },
    ),
    "sendChatAction": (
        ("chat_id", "action"),
        {"chat_id": (int, str), "message_thread_id": int, "action": str},
    ),
    "answerCallbackQuery": (("callback_query_id",), {"callback_query_id": str, "text": str, "show_alert": bool}),
    "getFile": (("file_id",), {"file_id": str}),
    "sendPhoto": (("chat_id", "photo"), {"chat_id": str, "message_thread_id": str, "photo": bytes, "caption": str}),
    "sendDocument": (
        ("chat_id", "document"),
        {"chat_id": str, "message_thread_id": str, "document": bytes, "caption": str},
    ),
}


class RefusedError(Exception):
    def __init__(self, code, description, **parameters):
        super().__init__(description)
        self.answer = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.answer["parameters"] = parameters


class BotApiServer:
    """Holds updates until they are confirmed, and what the bot sent."""

    def __init__(self):
        self.calls = []
        self.refusals = []
        self.faults = []
        self.messages = {}
        self.files = {}
        self.max_offset = 0
        self._updates = []
        self._next = 1000
        self._news = threading.Condition()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                server._handle(self)

            do_GET = do_POST  # noqa: N815  # as http.server has it

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.root = f"http://127.0.0.1:{self._server.server_port}"
        self._is_open = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        with self._news:
            self._is_open = False
            self._news.notify_all()
        self._server.shutdown()
        self._server.server_close()
        assert self.faults == []

    def writes(self, text=None, *, sender=OWNER, chat=None, **about):
        """A person writes a message."""
        chat = chat or {"id": sender["id"], "type": "private"}
        self._next += 1
        message = {"message_id": self._next, "from": sender, "chat": chat, "date": 0, **about}
        if text is not None:
            message["text"] = text
        self._put({"update_id": self._next, "message": message})

    def taps(self, data, sender=OWNER):
        """A person taps a button."""
        self._next += 1
        self._put({"update_id": self._next, "callback_query": {"id": str(self._next), "from": sender, "data": data}})

    def _put(self, update):
        with self._news:
            self._updates.append(update)
            self._news.notify_all()

    def refuse(self, code, description, method="sendMessage", **parameters):
        """Refuse the next call of a method."""
        self.refusals.append((method, RefusedError(code, description, **parameters)))

    def sent(self, method="sendMessage"):
        """What the bot sent so far by a method."""
        return [given for called, given in list(self.calls) if called == method]

    def until(self, true, seconds=10):
        with self._news:
            assert self._news.wait_for(true, seconds), (self.faults, self.calls[-5:])

    def _handle(self, request):
        length = int(request.headers.get("content-length") or 0)
        body = request.rfile.read(length)
        try:
            document = self._answer(request, body)
        except RefusedError as error:
            document = error.answer
        if isinstance(document, bytes):
            data, kind = document, "application/octet-stream"
        else:
            data, kind = json.dumps(document).encode(), "application/json"
        try:
            request.send_response(document.get("error_code", 200) if isinstance(document, dict) else 200)
            request.send_header("content-type", kind)
            request.send_header("content-length", str(len(data)))
            request.end_headers()
            request.wfile.write(data)
        except OSError:
            pass
        with self._news:
            self._news.notify_all()

    def _answer(self, request, body):
        if request.path.startswith(f"/file/bot{TOKEN}/"):
            return self.files[request.path.rpartition("/")[2]]
        prefix, _, method = request.path.rpartition("/")
        if prefix != f"/bot{TOKEN}":
            raise RefusedError(401, "Unauthorized")
        given = _parameters(request, body)
        try:
            self._check(method, given)
        except RefusedError as error:
            self.faults.append(f"{method}: {error}")
            raise
        for number, (refused, error) in enumerate(self.refusals):
            if refused == method:
                del self.refusals[number]
                raise error
        self.calls.append((method, given))
        return {"ok": True, "result": self._result(method, given)}

    def _check(self, method, given):
        if method not in METHODS:
            raise RefusedError(404, "Not Found: method not found")
        required, known = METHODS[method]
        for name in required:
            if name not in given:
                raise RefusedError(400, f"Bad Request: {name} is missing")
        for name, value in given.items():
            if name not in known or not isinstance(value, known[name]):
                raise RefusedError(400, f"Bad Request: {name}={value!r}")
        text = given.get("text")
        if text is not None and "message" in method.lower():
            _check_text(text, given.get("entities", []))
        for row in given.get("reply_markup", {}).get("inline_keyboard", []):
            for button in row:
                if not 1 <= len(button["callback_data"].encode()) <= 64 or not button["text"]:
                    raise RefusedError(400, "Bad Request: BUTTON_DATA_INVALID")
        if len(given.get("text", "")) > 200 and method == "answerCallbackQuery":
            raise RefusedError(400, "Bad Request: MESSAGE_TOO_LONG")
        for each in given.get("commands", []):
            name = each["command"]
            is_name = 1 <= len(name) <= 32 and all(one.islower() or one.isdigit() or one == "_" for one in name)
            if not is_name or not 1 <= len(each["description"]) <= 256:
                raise RefusedError(400, f"Bad Request: BOT_COMMAND_INVALID {name}")
        for name, most in (("photo", 10_000_000), ("document", 50_000_000)):
            if len(given.get(name, b"")) > most:
                raise RefusedError(413, "Request Entity Too Large")
        if len(given.get("caption", "").encode("utf-16-le")) // 2 > 1024:
            raise RefusedError(400, "Bad Request: message caption is too long")
        if given.get("message_thread_id") in (1, "1"):
            raise RefusedError(400, "Bad Request: message thread not found")

    def _result(self, method, given):
        if method == "getMe":
            return {"id": 123456789, "is_bot": True, "username": "claw_bot"}
        if method == "getUpdates":
            return self._wait_for_updates(given)
        if method == "getFile":
            return {"file_id": given["file_id"], "file_path": f"documents/{given['file_id']}"}
        if method.startswith("send") and method != "sendChatAction":
            self._next += 1
            self.messages[self._next] = given.get("text")
            return {"message_id": self._next}
        if method == "editMessageText":
            if given["message_id"] not in self.messages:
                raise RefusedError(400, "Bad Request: message to edit not found")
            if self.messages[given["message_id"]] == given["text"]:
                raise RefusedError(400, "Bad Request: message is not modified")
            self.messages[given["message_id"]] = given["text"]
        return True

    def _wait_for_updates(self, given):
        offset = given.get("offset", 0)
        self.max_offset = max(self.max_offset, offset)
        with self._news:
            self._updates = [each for each in self._updates if each["update_id"] >= offset]
            self._news.wait_for(lambda: self._updates or not self._is_open, min(given.get("timeout", 0), 5))
            return list(self._updates)


def _parameters(request, body):
    kind = request.headers.get("content-type") or ""
    if not kind.startswith("multipart/"):
        return json.loads(body or b"{}")
    parsed = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    given = {}
    for part in parsed.get_payload():
        name = part.get_param("name", header="content-disposition")
        value = part.get_payload(decode=True)
        given[name] = value if part.get_filename() else value.decode()
    return given


def _check_text(text, entities):
    units = len(text.encode("utf-16-le")) // 2
    if not 1 <= units <= 4096:
        raise RefusedError(400, "Bad Request: message is too long")
    if len(entities) > 100:
        raise RefusedError(400, "Bad Request: too many entities")
    for each in entities:
        if each["offset"] < 0 or each["length"] <= 0 or each["offset"] + each["length"] > units:
            raise RefusedError(400, "Bad Request: entity is out of bounds")
