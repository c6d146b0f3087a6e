"""Cassettes: answers of a model are recorded once, and replayed by what was said and called."""

import asyncio
import json

import pytest

from oneclaw_core import OneClaw, OneClawError, ToolCall, ToolContext, UsageError, remember_secret, tool
from oneclaw_core.cassettes.cassette import entries_of_session, write_cassette
from oneclaw_core.providers import ModelResponse, ProviderModel
from oneclaw_core.testing import (
    Cassette,
    CassetteError,
    CassetteMissError,
    FunctionModel,
    ScriptedModel,
)

SECRET = "sesame-open-4711-aa"


@tool
def read_note(path: str, context: ToolContext) -> str:
    """Read a note.

    Args:
        path: of the note.
    """
    return f"A note of {context.deps}."


@tool
def extra() -> str:
    """Do something else."""
    return "done"


def folder_of(tmp_path, number=1):
    folder = tmp_path / f"run{number}"
    folder.mkdir(exist_ok=True)
    return folder


def script(path="/tmp/run1/notes/a.md"):
    return ScriptedModel().calls("read_note", path=path).then("It is a note of Ada.").says("Goodbye.")


def talk(model, home, texts=("Read /tmp/run1/notes/a.md", "Bye"), tools=(read_note,), deps="Ada", **options):
    """Have one conversation and return the answers."""

    async def main():
        answers = []
        async with OneClaw.open(home, plugins=["builtin"], environ={}, deps=deps) as claw:
            claw.add_tools(*tools)
            for text in texts:
                events = [each async for each in claw.send_message(text, session="s", model=model, **options)]
                answers.append(events[-1].text)
        return answers

    return asyncio.run(main())


def recorded(tmp_path, model=None, **options):
    path = tmp_path / "cassettes" / "notes.json"
    cassette = Cassette(path, record="all", model=model or script(), **options)
    assert talk(cassette, folder_of(tmp_path)) == ["It is a note of Ada.", "Goodbye."]
    return path


def test_an_answer_is_recorded_once_and_replayed_with_other_prompts_tools_and_folders(tmp_path):
    path = recorded(tmp_path)
    cassette = Cassette(path)

    answers = talk(
        cassette,
        folder_of(tmp_path, 2),
        texts=("Read /home/ada/run2/notes/a.md", "Bye"),
        tools=(read_note, extra),
        deps="Bo",
        system_prompt="Answer in French.",
    )

    assert answers == ["It is a note of Ada.", "Goodbye."]
    assert cassette.unused == ()
    assert "extra" in cassette.requests[0].tools.names
    # The tool has run, with the dependencies of now.
    assert cassette.requests[1].messages[-1].content == "A note of Bo."


def test_a_cassette_can_be_read_by_people(tmp_path):
    document = json.loads(recorded(tmp_path).read_text())

    assert (document["format"], document["key"]) == (1, "conversation")
    first, second, third = document["entries"]
    assert first["said"] == "user: Read <folder>/a.md"
    assert first["calls"][0]["name"] == "read_note"
    assert second["said"] == "result of read_note: success, after user: Read <folder>/a.md"
    assert "".join(second["text"]) == "It is a note of Ada."
    assert second["usage"].keys() == {"input_tokens", "output_tokens"}
    assert third["stop_reason"] == "complete"
    assert "provider_data" not in first


def test_a_miss_names_what_was_asked_and_what_is_unused(tmp_path):
    path = recorded(tmp_path)

    with pytest.raises(CassetteMissError) as raised:
        talk(Cassette(path), folder_of(tmp_path, 2), texts=("Delete it",))

    assert isinstance(raised.value, OneClawError)
    assert "user: Delete it" in str(raised.value)
    assert "user: Read <folder>/a.md" in str(raised.value)
    assert "pytest --oneclaw-record=new" in str(raised.value)


@pytest.mark.long
def test_another_result_or_argument_is_another_conversation(tmp_path):
    @tool(name="read_note")
    def fails(path: str) -> str:
        """Fail."""
        raise OSError("gone")

    path = recorded(tmp_path)
    with pytest.raises(CassetteMissError, match="result of read_note: execution_error"):
        talk(Cassette(path), folder_of(tmp_path, 2), tools=(fails,))


@pytest.mark.long
def test_an_answer_is_used_once(tmp_path):
    path = recorded(tmp_path)
    cassette = Cassette(path)
    talk(cassette, folder_of(tmp_path, 2))

    with pytest.raises(CassetteMissError, match="nothing, all are used"):
        talk(cassette, folder_of(tmp_path, 3))


def test_times_ids_and_what_the_test_names_are_normalised(tmp_path):
    path = tmp_path / "times.json"
    said = "On 2026-11-28T12:00:01Z order {} of {} came"
    first = said.format(7, "3f2504e0-4f89-11d3-9a0c-0305e82c3301")
    options = {"normalise": [(r"order \d+", "order N")]}
    talk(Cassette(path, record="all", model=ScriptedModel().says("Noted."), **options), folder_of(tmp_path), [first])

    second = said.replace("28T12", "29 09").format(8, "00000000-0000-11d3-9a0c-0305e82c3301")

    assert talk(Cassette(path, **options), folder_of(tmp_path, 2), [second]) == ["Noted."]


@pytest.mark.long
def test_new_records_only_what_is_missing_and_all_begins_anew(tmp_path):
    path = recorded(tmp_path)
    before = json.loads(path.read_text())["entries"]

    more = ScriptedModel().says("Later.")
    texts = ("Read /tmp/run1/notes/a.md", "Bye", "And now?")
    assert talk(Cassette(path, record="new", model=more), folder_of(tmp_path, 2), texts)[-1] == "Later."
    after = json.loads(path.read_text())["entries"]
    assert (after[:3], len(after), len(more.requests)) == (before, 4, 1)

    talk(Cassette(path, record="all", model=ScriptedModel().says("Anew.")), folder_of(tmp_path, 3), ("Hello",))
    assert len(json.loads(path.read_text())["entries"]) == 1


def test_a_strict_cassette_depends_on_everything_and_keeps_what_the_service_wants_back(tmp_path):
    def answer(request):
        return ModelResponse(text="Signed.", provider_data={"acme": {"signature": "abc"}})

    path = tmp_path / "strict.json"
    cassette = Cassette(path, key="strict", record="all", model=FunctionModel(answer))
    talk(cassette, folder_of(tmp_path), ("Hello",))
    assert json.loads(path.read_text())["entries"][0]["provider_data"] == {"acme": {"signature": "abc"}}

    assert talk(Cassette(path, key="strict"), folder_of(tmp_path, 2), ("Hello",)) == ["Signed."]
    with pytest.raises(CassetteMissError):
        talk(Cassette(path, key="strict"), folder_of(tmp_path, 3), ("Hello",), tools=(read_note, extra))
    with pytest.raises(CassetteError, match="keys of the kind 'strict'"):
        Cassette(path)


def test_no_secret_is_left_in_a_cassette(tmp_path):
    remember_secret(SECRET)

    def answer(request):
        if request.messages[-1].content.startswith("A note"):
            return f"It says {SECRET}, and once more {SECRET}."
        return ModelResponse(
            text="Reading.", tool_calls=(ToolCall("call_1", "read_note", json.dumps({"path": f"a?token={SECRET}"})),)
        )

    path = tmp_path / "secret.json"
    talk(Cassette(path, record="all", model=FunctionModel(answer)), folder_of(tmp_path), (f"My key is {SECRET}",))

    text = path.read_text()
    assert SECRET not in text
    assert SECRET not in "".join(piece for each in json.loads(text)["entries"] for piece in each["text"])
    assert "[redacted]" in text
    cassette = Cassette(path)
    assert talk(cassette, folder_of(tmp_path, 2), (f"My key is {SECRET}",)) == [
        "It says [redacted], and once more [redacted]."
    ]


def test_a_secret_that_redaction_misses_keeps_a_cassette_from_being_written(tmp_path):
    def answer(request):
        remember_secret("call_later_known_1")  # becomes known after the first answer was recorded
        return "Done."

    path = tmp_path / "later.json"
    first = FunctionModel(
        lambda request: (
            ModelResponse(tool_calls=(ToolCall("call_later_known_1", "read_note", '{"path": "a"}'),))
            if len(request.messages) == 1
            else answer(request)
        )
    )
    with pytest.raises(CassetteError, match="a secret that is known would be left"):
        talk(Cassette(path, record="all", model=first), folder_of(tmp_path), ("Hello",))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (None, "there is no cassette .* --oneclaw-record=new"),
        ("[]", "is not a cassette"),
        ('{"format": 2, "key": "conversation", "entries": []}', "its format is 2"),
        (
            '{"format": 1, "key": "conversation", "entries": [{"key": "a", "said": "", "stop_reason": "x"}]}',
            "not a casse",
        ),
    ],
)
def test_another_file_is_no_cassette(tmp_path, text, fault):
    path = tmp_path / "a.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(CassetteError, match=fault):
        Cassette(path)


def test_recording_needs_a_model(tmp_path):
    with pytest.raises(CassetteError, match="name the model"):
        Cassette(tmp_path / "a.json", record="new")


def test_a_configured_model_is_recorded_by_its_name(tmp_path, monkeypatch):
    monkeypatch.setenv("ONECLAW_HOME", str(tmp_path / "unused"))
    path = tmp_path / "offline.json"
    (first,) = talk(Cassette(path, record="new", model="offline/rules"), folder_of(tmp_path), ("What time is it?",), ())

    assert "time" in json.loads(path.read_text())["entries"][0]["calls"][0]["name"]
    assert talk(Cassette(path), folder_of(tmp_path, 2), ("What time is it?",), ()) == [first]
    assert not (tmp_path / "unused").exists()


def test_a_configured_model_is_an_object_while_it_is_held(tmp_path):
    async def main():
        async with OneClaw.open(tmp_path, plugins=["builtin", "offline"], environ={}) as claw:
            async with claw.configured_model("offline/rules") as model:
                assert isinstance(model, ProviderModel)
                events = [each async for each in claw.send_message("Hello", model=model)]
                assert events[-1].text
            with pytest.raises(UsageError):
                async with claw.configured_model("nothing/here"):
                    pass

    asyncio.run(main())


def test_a_stored_session_with_outputs_is_replayed(tmp_path):
    async def turns(claw, model):
        first = await claw.ask("Count", model=model, session="s", output=int)
        return first, await claw.ask("And now?", model=model, session="s")

    async def main():
        async with OneClaw.open(tmp_path / "first", plugins=["builtin"], environ={}) as claw:
            script = ScriptedModel().calls("final_result", result="many").calls("final_result", result=3).says("Done.")
            assert await turns(claw, script) == (3, "Done.")
            session = await claw.store.find_session("s")
            entries = entries_of_session(await claw.services.sessions.messages(session.id))
        write_cassette(tmp_path / "s.json", "conversation", entries)
        async with OneClaw.open(tmp_path / "second", plugins=["builtin"], environ={}) as claw:
            cassette = Cassette(tmp_path / "s.json")
            assert await turns(claw, cassette) == (3, "Done.")
            assert cassette.unused == ()

    asyncio.run(main())
