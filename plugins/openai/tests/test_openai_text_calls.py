"""Tool calls that models write as text, in the form of each family, are read; other texts are not taken for calls."""

# ruff: noqa: RUF001  # DeepSeek's tokens have characters that look like others

import json

import pytest
from oneclaw_openai.text_calls import late_calls, may_be_calls, read_calls, valid_arguments

from oneclaw_core import ToolDefinition

WEATHER = ToolDefinition(
    "get_weather",
    "Tell the weather.",
    {
        "type": "object",
        "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
        "required": ["city"],
    },
)
ARGUMENTS = '{"city": "Oslo", "days": 2}'
CALL = f'{{"name": "get_weather", "arguments": {ARGUMENTS}}}'
PARAMETERS = CALL.replace("arguments", "parameters")
XML = "<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n2\n</parameter>"
NAMED = '<parameter name="city">Oslo</parameter>\n<parameter name="days">2</parameter>'

FORMS = {
    "hermes": f"<tool_call>\n{CALL}\n</tool_call>",
    "hermes-without-end": f"<tool_call>\n{CALL}",
    "hermes-without-begin": f"{CALL}\n</tool_call>",
    "qwen-coder": f"<tool_call>\n<function=get_weather>\n{XML}\n</function>\n</tool_call>",
    "qwen-coder-without-begin": f"<function=get_weather>\n{XML}\n</function>\n</tool_call>",
    "qwen-bracket": f"[Calling tool: get_weather({ARGUMENTS})]",
    "llama-3": PARAMETERS,
    "llama-3-tag": f"<|python_tag|>{PARAMETERS}<|eom_id|>",
    "llama-3-function": f"<function=get_weather>{ARGUMENTS}</function>",
    "llama-3-function-garbled": f"<function=get_weather={ARGUMENTS}</function>",
    "llama-3-type": PARAMETERS.replace("{", '{"type": "function", ', 1),
    "llama-4": "[get_weather(city='Oslo', days=2)]",
    "llama-4-tag": '<|python_start|>[get_weather(city="Oslo", days=2)]<|python_end|>',
    "gemma": "```tool_code\nprint(get_weather(city='Oslo', days=2))\n```",
    "mistral": f"[TOOL_CALLS][{CALL}]",
    "mistral-new": f"[TOOL_CALLS]get_weather[ARGS]{ARGUMENTS}",
    "mistral-newest": f"[TOOL_CALLS]get_weather{ARGUMENTS}",
    "deepseek-v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n"
    f"```json\n{ARGUMENTS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek-v3.1": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
    f"{ARGUMENTS}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek-v3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="get_weather">\n'
    '<｜DSML｜parameter name="city" string="true">Oslo</｜DSML｜parameter>\n'
    '<｜DSML｜parameter name="days" string="false">2</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
    "kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>"
    f"{ARGUMENTS}<|tool_call_end|><|tool_calls_section_end|>",
    "glm": "<tool_call>get_weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n"
    "<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call>",
    "minimax": f'<minimax:tool_call>\n<invoke name="get_weather">\n{NAMED}\n</invoke>\n</minimax:tool_call>',
    "minimax-m1": f"<tool_calls>\n{CALL}\n</tool_calls>",
    "claude": f'<function_calls>\n<invoke name="get_weather">\n{NAMED}\n</invoke>\n</function_calls>',
    "granite": f"<|tool_call|>[{CALL}]",
    "phi": f"<|tool_call|>[{CALL}]<|/tool_call|>",
    "phi-functools": f"functools[{CALL}]",
    "command-r": 'Action: ```json\n[{"tool_name": "get_weather", "parameters": ' + ARGUMENTS + "}]\n```",
    "command-a": '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "get_weather", "parameters": '
    + ARGUMENTS
    + "}]<|END_ACTION|>",
    "functionary": f">>>get_weather\n{ARGUMENTS}",
    "gpt-oss": f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{ARGUMENTS}<|call|>",
    "gpt-oss-start": f"<|start|>assistant<|channel|>commentary to=functions.get_weather<|message|>{ARGUMENTS}",
    "gpt-oss-plain": f"commentary to=functions.get_weather json{ARGUMENTS}",
    "internlm": f"<|action_start|><|plugin|>{PARAMETERS}<|action_end|>",
    "nemotron": f"<TOOLCALL>[{CALL}]</TOOLCALL>",
    "seed": f"<seed:tool_call>\n<function=get_weather>\n{XML}\n</function>\n</seed:tool_call>",
    "fence": f"```json\n{CALL}\n```",
    "openai": '{"tool_calls": [{"id": "c1", "type": "function", "function": ' + CALL + "}]}",
    "arguments-as-text": json.dumps({"name": "get_weather", "arguments": ARGUMENTS}),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_call_is_read_in_the_form_of_each_family(form):
    [call] = read_calls(FORMS[form])
    assert call.name == "get_weather"
    assert json.loads(valid_arguments(call, WEATHER)) == json.loads(ARGUMENTS)


@pytest.mark.parametrize("form", FORMS)
def test_such_an_answer_is_held_back_from_its_first_character_to_its_last(form):
    text = FORMS[form]
    shown = [text[:end] for end in range(1, len(text) + 1) if not may_be_calls(text[:end], ["get_weather"])]
    assert shown == []


@pytest.mark.parametrize("form", ["hermes", "qwen-coder", "kimi", "deepseek-v3", "glm", "llama-3-tag"])
def test_several_calls_are_read(form):
    assert [call.name for call in read_calls(f"{FORMS[form]}\n{FORMS[form]}")] == ["get_weather"] * 2


OTHERS = [
    "Hello.",
    "",
    '{"city": "Oslo"}',
    '{"name": "Oslo", "population": 700000}',
    '[1, 2, {"name": "x"}]',
    "[A link](https://example.com)",
    "```python\nprint('hi')\n```",
    f"A call looks like this: {CALL}",
    f"{CALL} is what I would call.",
    "print(x)",
]


@pytest.mark.parametrize("text", OTHERS)
def test_other_texts_are_no_calls(text):
    assert read_calls(text) is None
    assert late_calls(text) is None


@pytest.mark.parametrize(
    "text", ["Hello", "# Title", '{"city": "O', "[A", "```python\nimport", "<b>x", "The sky", "1."]
)
def test_other_texts_are_shown_at_once(text):
    assert not may_be_calls(text, ["get_weather"])


def test_calls_behind_other_text_are_found_unless_they_are_quoted():
    assert late_calls(f"Let me look.\n\n{FORMS['qwen-coder']}") == len("Let me look.\n\n")
    assert late_calls(f"Write it so:\n```\n{FORMS['hermes']}\n```") is None
    assert late_calls("Write `<tool_call>` around it.") is None


@pytest.mark.parametrize("arguments", ['{"days": 2}', '{"city": "Oslo", "days": "two"}', '{"town": "Oslo"}'])
def test_arguments_that_do_not_fit_the_tool_are_not_valid(arguments):
    [call] = read_calls(f'{{"name": "get_weather", "arguments": {arguments}}}')
    assert valid_arguments(call, WEATHER) is None
