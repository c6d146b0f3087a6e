"""An output of a type, in every way in which a model can be asked for it."""

import asyncio
import json
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from how_long import some
from pydantic import BaseModel, Field

from oneclaw_core import (
    AgentLimits,
    OneClaw,
    Output,
    OutputError,
    OutputEvent,
    TextEvent,
    ToolCall,
    ToolResultEvent,
    TurnFinishedEvent,
    TurnLimitError,
    UsageError,
    tool,
)
from oneclaw_core.providers import ModelResponse, StopReason
from oneclaw_core.testing import FunctionModel


class City(BaseModel):
    name: str
    population: Annotated[int, Field(gt=0)]


class Refusal(BaseModel):
    reason: str


GOOD = '{"name":"Lagos","population":15000000}'
BAD = '{"name":"Lagos","population":0}'


class Model(FunctionModel):
    """Gives prepared answers; natively, if it is said to."""

    def __init__(self, *answers, is_native=False):
        super().__init__(lambda request: answers[len(self.requests) - 1])
        if is_native:
            self.takes_output = lambda request, is_said: True


def gives(*arguments, beside=()):
    named = [*beside, *(("final_result", each) for each in arguments)]
    return ModelResponse(tool_calls=tuple(ToolCall(f"c{n}", *each) for n, each in enumerate(named)))


class Played:
    """A turn that wants an output, and what is stored afterwards."""

    def __init__(self, home, model, output, *, raises=None, after=(), text="Largest city?", **options):
        self.model, self.events, self.error = model, [], None
        asyncio.run(self._play(home, output, raises, after, text, options))

    async def _play(self, home, output, raises, after, text, options):
        async with OneClaw.open(home, environ={}, plugins=["builtin"]) as claw:
            try:
                async for event in claw.send_message(text, session="s", model=self.model, output=output, **options):
                    self.events.append(event)
            except Exception as error:
                if raises is None or not isinstance(error, raises):
                    raise
                self.error = error
            for answer in after:
                self.model._function = lambda request, answer=answer: answer
                async for _ in claw.send_message("And then?", session="s", model=self.model):
                    pass
            found = await claw.store.find_session("s")
            self.rows = [] if found is None else await claw.store.messages(found.id)

    def of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def finished(self):
        return self.of(TurnFinishedEvent)[-1]

    @property
    def shown(self):
        return [(str(each.type), each.content) for each in self.rows if not each.is_of_output]


def sent(request):
    return [(str(each.type), each.tool_name or each.content) for each in request.messages]


MODES = {
    "native": lambda text: (Model(text, is_native=True), "auto"),
    "tool": lambda text: (Model(gives(text)), "auto"),
    "prompted": lambda text: (Model(text), "prompted"),
}
every_mode = pytest.mark.parametrize("mode", MODES)


@every_mode
def test_the_output_is_of_the_type_in_every_mode(tmp_path, mode):
    model, wanted = MODES[mode](GOOD)
    played = Played(tmp_path, model, Output(City, wanted))
    assert played.finished.output == City(name="Lagos", population=15_000_000)
    assert json.loads(played.finished.text) == json.loads(GOOD)
    assert played.finished.to_dict()["output"] == {"name": "Lagos", "population": 15_000_000}
    assert played.shown == [("user", "Largest city?"), ("assistant", GOOD)]
    (request,) = model.requests
    tools = [each.name for each in request.tools]
    assert (request.output is not None, "final_result" in tools) == (mode == "native", mode == "tool")
    assert ("JSON Schema" in request.messages[-1].content) == (mode == "prompted")


def test_the_tool_stands_last_for_that_turn_alone(tmp_path):
    played = Played(tmp_path, Model(gives(GOOD)), City, after=["Yes."])
    first, second = ([each.name for each in request.tools] for request in played.model.requests)
    assert first == [*second, "final_result"]
    assert sent(played.model.requests[1]) == [("user", "Largest city?"), ("assistant", GOOD), ("user", "And then?")]


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_a_wrong_answer_is_told_what_is_wrong_by_no_user_and_is_forgotten(tmp_path, mode):
    model = Model(BAD, f"```json\n{GOOD}\n```", is_native=mode == "native")
    played = Played(tmp_path, model, Output(City, mode), after=["Yes."])
    assert played.finished.output.population == 15_000_000
    told = model.requests[1].messages[-1].content
    assert told.startswith('<context plugin="oneclaw">')
    assert "/population: Input should be greater than 0" in told
    assert [kind for kind, _ in sent(model.requests[1])] == ["user", "assistant", "user"]
    assert [kind for kind, _ in played.shown] == ["user", "assistant", "user", "assistant"]
    assert [kind for kind, _ in sent(model.requests[2])] == ["user", "assistant", "user"]
    assert not any(BAD in text for _, text in sent(model.requests[2]))


def test_a_wrong_result_is_told_what_is_wrong_by_the_tool(tmp_path):
    played = Played(tmp_path, Model(gives(BAD), "I am done.", gives(GOOD)), City, after=["Yes."])
    first, _ = (event.result for event in played.of(ToolResultEvent))
    assert first.error_type == "validation_error"
    assert "/population: Input should be greater than 0" in first.text()
    assert "Call the tool final_result" in played.model.requests[2].messages[-1].content
    assert played.finished.output.name == "Lagos"
    assert sent(played.model.requests[3]) == [("user", "Largest city?"), ("assistant", GOOD), ("user", "And then?")]


def test_a_model_that_answers_in_text_has_given_the_output_too(tmp_path):
    played = Played(tmp_path, Model(GOOD), Output(City, "tool"))
    assert (played.finished.output.name, len(played.model.requests)) == ("Lagos", 1)


@every_mode
def test_retries_are_bounded_and_the_session_goes_on(tmp_path, mode):
    answers = {"native": BAD, "prompted": BAD, "tool": gives(BAD)}
    model = Model(*[answers[mode]] * 3, is_native=mode == "native")
    played = Played(tmp_path, model, Output(City, mode), raises=OutputError, output_retries=2, after=["Hello."])
    assert len(model.requests) == 4
    assert json.loads(played.error.text) == json.loads(BAD)
    assert played.error.faults == ("/population: Input should be greater than 0",)
    assert "3 times" in str(played.error)
    assert played.shown[-1] == ("assistant", "Hello.")


def test_retries_count_in_the_rounds(tmp_path):
    limits = AgentLimits(max_tool_rounds=2)
    Played(tmp_path, Model(BAD, BAD, BAD), Output(City, "prompted"), raises=TurnLimitError, limits=limits)


def test_calls_beside_the_result_run_first(tmp_path):
    order = []

    @tool
    async def save() -> str:
        """Save."""
        await asyncio.sleep(0.05)
        order.append("saved")
        return "saved"

    class Noting(BaseModel):
        name: str

        def model_post_init(self, context):
            order.append("given")

    played = Played(tmp_path, Model(gives('{"name":"x"}', beside=[("save", "{}")])), Noting, tools=[save])
    assert order == ["saved", "given"]
    assert played.finished.output == Noting(name="x")
    assert [each.name for each in played.of(ToolResultEvent)] == ["save", "final_result"]


@dataclass
class Point:
    x: int
    y: int = 0


@pytest.mark.parametrize(
    ("wanted", "given", "value"),
    some(
        [
            (list[int], '{"result":[1,2]}', [1, 2]),
            (list[int], "[1,2]", [1, 2]),
            (int, '{"result":5}', 5),
            (City | Refusal, '{"result":{"reason":"none"}}', Refusal(reason="none")),
            (City | Refusal, GOOD, City(name="Lagos", population=15_000_000)),
            (Literal["yes", "no"], '{"result":"yes"}', "yes"),
            (Point, '{"x":1}', Point(1)),
            (dict[str, int], '{"a":1}', {"a": 1}),
            ({"type": "array", "items": {"type": "integer"}}, '{"result":[3]}', [3]),
            ({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}, '{"a":1}', {"a": 1}),
        ],
        3,
    ),
)
@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_what_is_no_object_is_wrapped_for_the_model_alone(tmp_path, mode, wanted, given, value):
    played = Played(tmp_path, Model(given, is_native=mode == "native"), Output(wanted, mode))
    assert played.finished.output == value


def test_a_schema_is_checked_too(tmp_path):
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    model = Model(gives('{"a":"one"}'), gives('{"a":1}'))
    assert Played(tmp_path, model, schema).finished.output == {"a": 1}
    assert "/a: " in model.requests[1].messages[-1].content


@pytest.mark.parametrize("mode", ["native", "prompted"])
def test_parts_of_the_output_come_while_the_model_writes(tmp_path, mode):
    played = Played(tmp_path, Model(GOOD, is_native=mode == "native"), Output(City, mode))
    parts = [event.value for event in played.of(OutputEvent)]
    assert parts[0].keys() <= {"name", "population"}
    assert parts[-1] == {"name": "Lagos", "population": 15_000_000}
    assert played.of(OutputEvent)[-1].to_dict() == {"event": "output", "value": parts[-1]}
    assert "".join(event.text for event in played.of(TextEvent)) == GOOD


def test_a_model_that_declines_gives_no_output(tmp_path):
    declined = ModelResponse(text="I cannot say.", stop_reason=StopReason.REFUSAL)
    played = Played(tmp_path, Model(declined, is_native=True), City)
    assert (played.finished.output, str(played.finished.stop_reason)) == (None, "refusal")
    assert "output" not in played.finished.to_dict()


def test_a_name_and_a_description_of_its_own(tmp_path):
    call = ModelResponse(tool_calls=(ToolCall("c", "give_city", GOOD),))
    played = Played(tmp_path, Model(call), Output(City, name="give_city", description="The largest."), after=["Yes."])
    given = list(played.model.requests[0].tools)[-1]
    assert (given.name, "The largest." in given.description) == ("give_city", True)
    assert ("tool_call", "give_city") not in sent(played.model.requests[1])


@pytest.mark.parametrize(
    ("output", "options", "text"),
    [
        (object(), {}, "cannot be the output"),
        (lambda: 1, {}, "cannot be the output"),
        (City, {"output_retries": -1}, "from 0 to 20"),
        (Output(City, name="read_file"), {}, "cannot be called 'read_file'"),
        (Output(City, "native"), {}, "has no native output"),
        ({"type": "object", "properties": 5}, {}, "the output cannot be asked for"),
    ],
)
def test_what_cannot_be_asked_for(tmp_path, output, options, text):
    played = Played(tmp_path, Model(GOOD), output, raises=UsageError, **options)
    assert text in str(played.error)


@pytest.mark.parametrize(("mode", "name"), [("best", "x"), ("auto", "my output"), ("auto", "")])
def test_an_output_is_checked_when_it_is_made(mode, name):
    with pytest.raises(UsageError):
        Output(City, mode, name)


def test_a_turn_that_is_resumed_gives_a_text_and_forgets_what_was_wrong(tmp_path):
    model, answers = Model(), iter([BAD])

    def answer(request):
        text = next(answers, None)
        if text is None:
            raise RuntimeError("the process ended")
        return text

    model._function = answer

    async def run():
        async with OneClaw.open(tmp_path, environ={}, plugins=["builtin"]) as claw:
            with pytest.raises(RuntimeError):
                async for _ in claw.send_message("Largest city?", session="s", model=model, output=City):
                    pass
            model._function = lambda request: "Lagos."
            return [event async for event in claw.resume("s", model=model)]

    finished = asyncio.run(run())[-1]
    assert (finished.text, finished.output) == ("Lagos.", None)
    assert sent(model.requests[-1]) == [("user", "Largest city?")]
