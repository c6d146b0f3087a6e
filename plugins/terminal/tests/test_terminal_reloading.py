"""``oneclaw chat --reload NAME``: a plugin changes while its author talks with a model that uses it."""

import json
import sys

import pytest
from model_server import calls, text
from oneclaw_terminal.reloading import PluginCode

from oneclaw_core import UsageError

pytestmark = pytest.mark.one_python  # needs other plugins

MODEL = ("--model", "openai_compatible/test")
SOURCE = '''
from oneclaw_core import hookimpl, tool
from oneclaw_kitchen.recipes import cake

@tool
def bake() -> str:
    """Bake something."""
    return cake()

@hookimpl
def register_tools(register):
    register(bake)
'''
RECIPES = """
def cake():
    return "a dry cake"
"""


@pytest.fixture
def chat(oneclaw, tmp_path, monkeypatch):
    """Send lines to a chat with ``--reload kitchen``."""

    def talk(*lines, options=MODEL, plugin="kitchen"):
        (tmp_path / "lines").write_text("".join(line + "\n" for line in lines))
        with (tmp_path / "lines").open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            return oneclaw("chat", "--reload", plugin, *options)

    return talk


@pytest.fixture
def kitchen(install_plugin):
    return install_plugin("kitchen", SOURCE, files={"recipes.py": RECIPES})


def after_writing(reply, path, content):
    """Answer a request, after the author has written a file."""

    def answer(body):
        path.write_text(content)
        return reply

    return answer


def descriptions(body):
    return {each["function"]["name"]: each["function"]["description"] for each in body["tools"]}


def results(body):
    return [json.loads(message["content"])["result"] for message in body["messages"] if message["role"] == "tool"]


@pytest.mark.long
def test_a_changed_tool_is_there_in_the_next_turn(chat, kitchen, serve):
    new = SOURCE.replace("Bake something.", "Bake a cake, for birthdays.")
    new = new.replace(
        "@hookimpl", '@tool\ndef wash() -> str:\n    """Wash the dishes."""\n    return "clean"\n\n@hookimpl'
    )
    new += "    register(wash)\n"
    server = serve(after_writing(text("Hello."), kitchen / "__init__.py", new), text("I see."))

    outcome = chat("hello", "what can you do?")

    assert outcome.status == 0, outcome.stderr
    assert descriptions(server.bodies[0])["bake"] == "Bake something."
    assert "wash" not in descriptions(server.bodies[0])
    assert descriptions(server.bodies[1])["bake"] == "Bake a cake, for birthdays."
    assert descriptions(server.bodies[1])["wash"] == "Wash the dishes."
    assert "(the plugin kitchen is loaded anew: bake, wash)" in outcome.stderr
    assert [message["content"] for message in server.bodies[1]["messages"][1:]] == [
        "hello",
        "Hello.",
        "what can you do?",
    ]


@pytest.mark.long
def test_a_module_that_a_tool_has_used_is_imported_anew(chat, kitchen, serve):
    better = RECIPES.replace("dry", "moist and sweet")
    server = serve(
        calls(("bake", {})),
        after_writing(text("Baked."), kitchen / "recipes.py", better),
        calls(("bake", {})),
        text("Better."),
    )

    outcome = chat("bake", "bake again")

    assert outcome.status == 0, outcome.stderr
    assert results(server.bodies[1]) == ["a dry cake"]
    assert results(server.bodies[3]) == ["a dry cake", "a moist and sweet cake"]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        pytest.param("def cake(:\n", "recipes.py:1: SyntaxError", marks=pytest.mark.long),
        ("raise ValueError('no oven')\n", "recipes.py:1: ValueError: no oven"),
        pytest.param("raise SystemExit(3)\n", "SystemExit: 3", marks=pytest.mark.long),
    ],
)
def test_a_version_that_cannot_be_imported_is_shown_and_the_one_before_stays(chat, kitchen, serve, broken, said):
    server = serve(
        after_writing(text("Hello."), kitchen / "recipes.py", broken),
        calls(("bake", {})),
        after_writing(text("Still dry."), kitchen / "recipes.py", RECIPES.replace("dry", "moist and sweet")),
        calls(("bake", {})),
        text("Better."),
    )

    outcome = chat("hello", "bake", "bake again")

    assert outcome.status == 0, outcome.stderr
    assert "the plugin kitchen is not loaded anew, the version before stays: " in outcome.stderr
    assert said in outcome.stderr
    assert results(server.bodies[2]) == ["a dry cake"]
    assert results(server.bodies[4]) == ["a dry cake", "a moist and sweet cake"]


def test_a_version_whose_hook_fails_is_shown_and_the_one_before_stays(chat, kitchen, serve):
    faulty = SOURCE.replace("    register(bake)", "    register(bakery)")
    server = serve(after_writing(text("Hello."), kitchen / "__init__.py", faulty), calls(("bake", {})), text("Baked."))

    outcome = chat("hello", "bake")

    assert "register_tools: NameError: name 'bakery' is not defined" in outcome.stderr
    assert results(server.bodies[2]) == ["a dry cake"]


@pytest.mark.long
def test_nothing_is_loaded_anew_without_a_change(chat, kitchen, serve):
    serve(text("Hello."), text("Hello again."))
    assert "loaded anew" not in chat("hello", "hello").stderr


@pytest.mark.long
def test_a_command_uses_the_new_version(chat, kitchen, serve):
    command = (
        "\nasync def pie(context, rest):\n    return 'an apple pie'\n\n"
        "@hookimpl\ndef register_chat_commands(register):\n    register('pie', 'oneclaw_kitchen:pie', help='Bake.')\n"
    )
    serve(after_writing(text("Hello."), kitchen / "__init__.py", SOURCE + command))

    outcome = chat("hello", "/pie")

    assert outcome.stdout.endswith("an apple pie\n"), outcome.stderr


@pytest.mark.parametrize(
    ("plugin", "said"),
    [
        ("bakery", "there is no plugin bakery; there are "),
        ("builtin", "the plugin builtin cannot be loaded anew: it is part of the program"),
        ("terminal", "the plugin terminal cannot be loaded anew: it is part of the program"),
    ],
)
def test_what_cannot_be_loaded_anew_ends_the_chat_at_once(chat, plugin, said):
    outcome = chat("hello", plugin=plugin, options=())
    assert outcome.status != 0
    assert said in outcome.stderr


def test_code_without_files_cannot_be_loaded_anew():
    with pytest.raises(UsageError, match="it has no files"):
        PluginCode("ghost", "oneclaw_ghost_that_is_not_there")
