"""Read tool calls that a model wrote as text, in the forms of its family. No I/O.

A server without a parser for them passes them on as the answer. Forms of Hermes and Qwen, Qwen-Coder, Llama 3 and 4,
Mistral, DeepSeek, Kimi, GLM, MiniMax, Granite, Phi, Command R, Functionary, InternLM, Nemotron, Seed and gpt-oss, and
plain JSON.
"""

# ruff: noqa: RUF001  # DeepSeek's tokens have characters that look like others

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_http_providers import parse_object

from oneclaw_core.json_schema import argument_faults, compile_schema, lenient_reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from oneclaw_core import ToolDefinition

_NAME = r"(?P<name>[A-Za-z_][\w.-]{0,99})"
# Tokens that stand around calls and between them.
_MARKS = (
    *(
        "<tool_call>",
        "</tool_call>",
        "<tool_calls>",
        "</tool_calls>",
        "<|tool_call|>",
        "<|/tool_call|>",
        "<|tool_call>",
    ),
    *("<tool_call|>", "<minimax:tool_call>", "</minimax:tool_call>", "<seed:tool_call>", "</seed:tool_call>"),
    *("<function_calls>", "</function_calls>", "<function_call>", "</function_call>", "<TOOLCALL>", "</TOOLCALL>"),
    *("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>"),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁call▁end｜>", "<｜end▁of▁sentence｜>", "<|eom_id|>"),
    *(
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
        "<|tool_call_end|>",
        "<|python_tag|>",
        "<|eot_id|>",
    ),
    *("<|python_start|>", "<|python_end|>", "<|START_ACTION|>", "<|END_ACTION|>", "[/TOOL_CALLS]", "[TOOL_CALLS]"),
    *("<|action_start|>", "<|plugin|>", "<|action_end|>", "<|call|>", "<|im_end|>", "<tools>", "</tools>", "</s>"),
    *("functools", "Action:", "</function>", "<|end|>"),
)
_SKIPPED = re.compile(r"(?:\s|;|" + "|".join(map(re.escape, sorted(_MARKS, key=len, reverse=True))) + r"|```\w*)+")
# What no answer for people begins with, or has outside code.
_OPENERS = (
    *("<tool_call>", "<tool_calls>", "<|tool_call|>", "<|tool_call>", "<function=", "<function name=", "[TOOL_CALLS]"),
    *("<minimax:tool_call>", "<seed:tool_call>", "<function_calls>", "<function_call>", "<TOOLCALL>", "<invoke name="),
    *("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜DSML｜", "<|tool_calls_section_begin|>", "<|python_tag|>"),
    *("<|tool_call_begin|>", "<|python_start|>", "<|START_ACTION|>", "<|action_start|>", "<|channel|>commentary to="),
    *("<|start|>assistant to=", "<|start|>assistant<|channel|>commentary to=", "<|channel|>analysis to=", ">>>"),
)
_MORE_OPENERS = ("functools", "Action:", "[Calling", "```tool_code", "```tool_call")
_LATE_OPENERS = tuple(each for each in _OPENERS if each != ">>>")
_HEADERS = tuple(
    re.compile(each)
    for each in (
        rf"<\|tool_call_begin\|>\s*(?:functions\.)?{_NAME}?(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*",
        rf"<｜tool▁call▁begin｜>\s*(?:function\s*<｜tool▁sep｜>\s*)?{_NAME}\s*(?:<｜tool▁sep｜>)?\s*(?:```(?:json)?)?\s*",
        rf"(?:\[TOOL_CALLS\]\s*)?{_NAME}\s*(?:\[CALL_ID\]\s*\w*)?\s*\[ARGS\]\s*",
        rf"(?<=\[TOOL_CALLS\]){_NAME}\s*",
        rf"(?:<\|\w+\|>|assistant|commentary|analysis|\s)*to=functions\.{_NAME}(?:<\|\w+\|>|commentary|json|code|\s)*",
        rf">>>\s*{_NAME}\s*",
        rf"\[Calling tool:\s*{_NAME}\(\s*",
    )
)
_XML = re.compile(
    rf"<(?:｜DSML｜)?(?:function=|function name=|invoke name=)[\"']?{_NAME}[\"']?[^>{{=]*(?:>|=|(?=\{{))"
    r"(?P<body>.*?)(?:</(?:｜DSML｜)?(?:function|invoke)>|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<(?:｜DSML｜)?parameter(?:=|\s+name=)[\"']?(?P<key>[^\"'>\s]+)[\"']?[^>]*>\n?(?P<value>.*?)\n?"
    r"(?:</(?:｜DSML｜)?parameter>|(?=<(?:｜DSML｜)?parameter[=\s])|\Z)",
    re.DOTALL,
)
_GLM = re.compile(
    rf"{_NAME}\s*(?P<body>(?:<arg_key>.*?</arg_key>\s*<arg_value>.*?</arg_value>\s*)+|(?=</tool_call>))", re.DOTALL
)
_GLM_PAIR = re.compile(r"<arg_key>\s*(?P<key>.*?)\s*</arg_key>\s*<arg_value>(?P<value>.*?)</arg_value>", re.DOTALL)
_NAME_KEYS = ("name", "tool_name", "tool", "function_name", "function", "action")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "tool_input", "action_input", "params")
_OTHER_KEYS = frozenset({"type", "id", "tool_call_id", "index", "call_id"})
_WRAPPER_KEYS = ("tool_calls", "tool_call", "function_call", "calls", "function")
_BEGINNING_OF_JSON = re.compile(
    r"(?:```(?:json|tool_call|tool_code|tool|xml|)\s*)?[\[{\s]*(?:\"(?P<key>\w*)(?P<end>\"?)|$)", re.IGNORECASE
)
_KEYS_OF_JSON = (*_NAME_KEYS, *_ARGUMENT_KEYS, *_WRAPPER_KEYS, *_OTHER_KEYS)


@dataclass(frozen=True, slots=True)
class TextCall:
    """A call that a model wrote as text.

    Attributes:
        name: of the tool.
        arguments: a JSON object, or texts by their names where the form has no types.
        is_typed: False if all values are texts.
    """

    name: str
    arguments: Mapping[str, Any]
    is_typed: bool = True


def read_calls(text: str) -> list[TextCall] | None:
    """Read a text that is one or several calls, and nothing else; ``None`` if it is something else."""
    found: list[TextCall] = []
    place = 0
    while place < len(text):
        skipped = _SKIPPED.match(text, place)
        start = skipped.end() if skipped else place
        if start >= len(text):
            break
        step = _call_at(text, start)
        if step is None and skipped:  # a mark may be part of a header
            step = _call_at(text, skipped.start())
        if step is None:
            return None
        calls, place = step
        found += calls
    return found or None


def late_calls(text: str) -> int | None:
    """Return the place at which calls begin behind other text; ``None`` if none do."""
    for match in re.finditer("|".join(map(re.escape, _LATE_OPENERS)), text):
        before = text[: match.start()]
        if before.count("```") % 2 or before.rpartition("\n")[2].count("`") % 2:
            continue
        return match.start()
    return None


def begun_opener(text: str) -> int:
    """Return how many characters at the end of a text may be the beginning of calls."""
    longest = max(map(len, _LATE_OPENERS))
    for length in range(min(longest - 1, len(text)), 0, -1):
        if any(each.startswith(text[-length:]) for each in _LATE_OPENERS):
            return length
    return 0


def may_be_calls(text: str, names: Iterable[str]) -> bool:
    """Return True if a text that goes on may turn out to be calls, and nothing else."""
    begun = text.lstrip()
    if any(each.startswith(begun) or begun.startswith(each) for each in (*_OPENERS, *_MORE_OPENERS)):
        return True
    for name in names:
        for before in ("[", "```python\n", "```\n", "to=functions.", "commentary to=functions."):
            opener = f"{before}{name}"
            if opener.startswith(begun) or begun.startswith(opener):
                return True
    if not begun.startswith(("{", "[", "`")):
        return False
    if begun.startswith("`") and len(begun) < 4:
        return "```".startswith(begun)
    found = _BEGINNING_OF_JSON.match(begun)
    if found is None:
        return bool(re.fullmatch(r"```[a-z_]{0,9}", begun))
    key = found["key"]
    if key is None:
        return True
    return key in _KEYS_OF_JSON if found["end"] else any(each.startswith(key) for each in _KEYS_OF_JSON)


def valid_arguments(call: TextCall, definition: ToolDefinition) -> str | None:
    """Return the arguments of a call as JSON, corrected where a correction is safe; ``None`` if they are not valid."""
    arguments = dict(call.arguments)
    if not call.is_typed:
        properties = definition.parameters.get("properties")
        known = properties if isinstance(properties, dict) else {}
        arguments = {key: _typed(value, known.get(key)) for key, value in arguments.items()}
    text = json.dumps(arguments, ensure_ascii=False)
    parsed = parse_object(text)
    if parsed is None:
        return None
    validator = compile_schema(definition.parameters)
    if not argument_faults(validator, parsed):
        return text
    lenient = lenient_reading(text, definition.parameters)
    return None if lenient is None or argument_faults(validator, lenient) else json.dumps(lenient, ensure_ascii=False)


def _typed(value: Any, schema: Any) -> Any:
    """Read a text as a value of the type that a parameter has."""
    kinds = schema.get("type") if isinstance(schema, dict) else None
    if kinds == "string" or (isinstance(kinds, list) and "string" in kinds) or not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _call_at(text: str, place: int) -> tuple[list[TextCall], int] | None:
    """Read what begins at a place: the calls, and where they end; ``None`` if none do."""
    for header in _HEADERS:
        match = header.match(text, place)
        if match is not None and text[match.end() : match.end() + 1] == "{":
            value, end = _json_at(text, match.end())
            if isinstance(value, dict) and match["name"]:
                tail = re.compile(r"\s*\)?\]?(?:```)?").match(text, end) if "Calling" in match[0] else None
                return [TextCall(_plain_name(match["name"]), value)], tail.end() if tail else end
    match = _XML.match(text, place)
    if match is not None:
        return _xml_call(match)
    if text[place] in "{[":
        value, end = _json_at(text, place)
        if value is not None:
            calls = list(_json_calls(value))
            items = value if isinstance(value, list) else [value]
            return (calls, end) if calls and len(calls) >= len(items) else None
    match = _GLM.match(text, place)
    if match is not None and "<tool_call>" in text[max(0, place - 12) : place]:
        pairs = {each["key"]: each["value"] for each in _GLM_PAIR.finditer(match["body"])}
        return [TextCall(_plain_name(match["name"]), pairs, is_typed=False)], match.end()
    return _python_calls(text, place)


def _xml_call(match: re.Match[str]) -> tuple[list[TextCall], int] | None:
    name, body = _plain_name(match["name"]), match["body"].strip().removesuffix(">").strip()
    body = re.sub(r"</?tool_call>\s*$", "", body).strip()
    if body.startswith("{"):
        value, end = _json_at(body, 0)
        return ([TextCall(name, value)], match.end()) if isinstance(value, dict) and end == len(body) else None
    pairs = {each["key"]: each["value"] for each in _PARAMETER.finditer(match["body"])}
    rest = _PARAMETER.sub("", match["body"])
    if re.sub(r"</?\w+>|\s", "", rest):
        return None
    return [TextCall(name, pairs, is_typed=False)], match.end()


def _json_at(text: str, place: int) -> tuple[Any, int]:
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, place)
    except (ValueError, RecursionError):
        return None, place


def _json_calls(value: Any) -> Iterator[TextCall]:
    if isinstance(value, list):
        for each in value:
            yield from _json_calls(each)
        return
    if not isinstance(value, dict):
        return
    wrapper = next((key for key in _WRAPPER_KEYS if isinstance(value.get(key), dict | list)), None)
    if wrapper is not None and not value.keys() - {wrapper} - _OTHER_KEYS:
        yield from _json_calls(value[wrapper])
        return
    name_key = next((key for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    argument_key = next((key for key in _ARGUMENT_KEYS if key in value), None)
    if name_key is None or value.keys() - {name_key, argument_key} - _OTHER_KEYS:
        return
    arguments = value.get(argument_key, {}) if argument_key else {}
    if isinstance(arguments, str):
        arguments = parse_object(arguments)
    elif arguments is None:
        arguments = {}
    if isinstance(arguments, dict) and (argument_key or value.get("type") == "function" or name_key == "name"):
        yield TextCall(_plain_name(value[name_key]), arguments)


def _python_calls(text: str, place: int) -> tuple[list[TextCall], int] | None:
    """Read calls as Python writes them, alone or in a list (Llama 4, Gemma)."""
    rest = text[place:].strip()
    end = re.search(r"(?:```|<\|\w+\|>)\s*$", rest)
    source = rest[: end.start()].strip() if end else rest
    if not re.match(r"\[?\s*(?:print\()?[A-Za-z_][\w.]*\(", source) or len(source) > 20_000:
        return None
    try:
        tree = ast.parse(source, mode="eval").body
        nodes = tree.elts if isinstance(tree, ast.List) else [tree]
        return [_python_call(each) for each in nodes], len(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _python_call(node: ast.expr) -> TextCall:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and len(node.args) == 1 and not node.keywords:
        node = node.args[0]
    if not isinstance(node, ast.Call) or node.args or any(each.arg is None for each in node.keywords):
        raise ValueError("no call with named arguments")
    arguments = {str(each.arg): ast.literal_eval(each.value) for each in node.keywords}
    json.dumps(arguments, allow_nan=False)
    return TextCall(_plain_name(ast.unparse(node.func)), arguments)


def _plain_name(name: str) -> str:
    return name.removeprefix("functions.").removeprefix("default_api.")
