"""One question from synchronous code."""

from contextlib import contextmanager

import pytest
from pydantic import BaseModel

from oneclaw_core import OutputError, TurnWork, ask, hookimpl
from oneclaw_core.providers import ModelResponse, StopReason
from oneclaw_core.testing import FunctionModel


class City(BaseModel):
    name: str


class Watch:
    """Notes how each turn was left, as tracing does."""

    def __init__(self):
        self.left = []

    @hookimpl
    def around(self, context, work):
        return self._entered(work) if isinstance(work, TurnWork) else None

    @contextmanager
    def _entered(self, work):
        try:
            yield
        except BaseException as error:
            self.left.append(type(error).__name__)
            raise
        self.left.append(work.outcome.text)


@pytest.fixture
def asked(tmp_path):
    def run(answer, **options):
        watch = Watch()
        model = FunctionModel(lambda request: answer)
        value = ask("Which city?", home=tmp_path, environ={}, plugins=["builtin", watch], model=model, **options)
        return value, watch.left

    return run


def test_the_turn_ends_without_an_error_in_traces(asked):
    assert asked("Lagos") == ("Lagos", ["Lagos"])


def test_the_output_is_the_value(asked):
    assert asked('{"name": "Lagos"}', output=City)[0] == City(name="Lagos")
    assert asked("[1]", output=list[int])[0] == [1]


def test_without_an_output_there_is_an_error(asked):
    with pytest.raises(OutputError, match="was asked once and gave no valid output"):
        asked("Lagos", output=City, output_retries=0)
    with pytest.raises(OutputError, match="the model declined to answer: I would rather not"):
        asked(ModelResponse(text="I would rather not.", stop_reason=StopReason.REFUSAL), output=City)
