"""A service that does everything wrong that is on the list: a turn ends in time, and the session goes on.

Every misbehaviour gets a separate session: one turn that is answered so, which ends with an error of one line or an
answer, and one that is answered well. Many sessions are under way at a time, so that they cannot help each other.
"""

import asyncio
import random
import time

import misbehaviours
import pytest
from audit import faults_of
from how_long import some
from misbehaving_server import MisbehavingServer
from misbehaviours import CALL, GOOD_TEXT, KEY, TEXT, Ends
from oneclaw_http_providers.retry import RetryPolicy
from wire_formats import FORMATS

from oneclaw_core import OneClaw, TurnFinishedEvent
from oneclaw_core.errors import OneClawError, ProviderError, TurnError
from oneclaw_core.types.messages import MessageType

pytestmark = pytest.mark.one_python

AT_ONCE = 16
# One that takes longer hangs: what is endless is ended by the turn's deadline. The machine may be very busy.
MOST_SECONDS = 45.0
DEADLINE_SECONDS = 2.0
LONGEST_ERROR = 2_000
# A bomb unpacked in one piece takes longer; a machine that is busy with other tests, not as long.
MOST_STALL_SECONDS = 2.0

# Values of fields that once ended a turn, or all later ones of the session, with an error of our own.
MENDED = {
    "anthropic": {
        "call-field-2-0-9",  # a block that is empty
        "call-field-2-3-8",  # whose name is a list
        "call-field-2-4-8",  # whose type is a list
        "call-field-2-4-15",  # that has no type
    }
}


def formats(step=1, first=0):
    """Parametrize with wire formats; where no more than the shared code matters, with some of them."""
    return pytest.mark.parametrize(
        "wire", some(FORMATS[first:] + FORMATS[:first], step), ids=lambda wire: wire.provider
    )


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch, is_long):
    """Between attempts, of which a second one shows as much as a fifth, and for token counts that never come."""
    if not is_long:

        def policy(max_retries, **more):
            return RetryPolicy(min(max_retries, 1), **more)

        monkeypatch.setattr("oneclaw_http_providers.provider.RetryPolicy", policy)
    monkeypatch.setattr("oneclaw_http_providers.retry.RetryPolicy.delay_seconds", lambda self, attempt: 0.0)
    monkeypatch.setattr("oneclaw_http_providers.answer._COUNTS_SECONDS", 0.2)


class Trial:
    """Sends messages to a service that misbehaves, and notes what goes wrong with that."""

    def __init__(self, home, wire, cases, *, deadline_seconds=60.0, max_tool_rounds=5):
        self.home = home
        self.wire = wire
        self.cases = list(cases)
        self.faults = []
        self.outcomes = {}
        self.seconds = {}
        self.longest_stall = 0.0
        self.settings = {
            "ONECLAW_TURN_DEADLINE_SECONDS": str(deadline_seconds),
            "ONECLAW_TURN_MAX_TOOL_ROUNDS": str(max_tool_rounds),
        }

    def run(self):
        names = [case.name for case in self.cases]
        assert len(names) == len(set(names))
        steps = {case.name: case.steps for case in self.cases}
        with MisbehavingServer(steps | {"good": lambda: misbehaviours.good(self.wire)}) as server:
            asyncio.run(self._run_all(server))
        assert not self.faults, "\n".join([f"{len(self.faults)} faults:", *self.faults])
        assert server.asked.keys() == {*names, "good"}
        self._look_for_key()
        return self

    async def _run_all(self, server):
        addresses = dict.fromkeys(("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), server.url)
        environ = {**addresses, **self.settings, self.wire.key_variable: KEY}
        environ[f"{self.wire.provider.upper()}_API_KEY"] = KEY
        places = asyncio.Semaphore(AT_ONCE)
        # However slow the machine, the turn after a bad one is to be as good as ever.
        patient = environ | {"ONECLAW_TURN_DEADLINE_SECONDS": "60"}
        async with (
            OneClaw.open(self.home, environ=environ, start_directory=self.home.parent, plugins=None) as claw,
            OneClaw.open(self.home, environ=patient, start_directory=self.home.parent, plugins=None) as patient_claw,
        ):

            async def one(case):
                async with places:
                    await self._try(claw, patient_claw, case)

            # What is imported and opened at the first use takes longer than some deadlines, on a busy machine.
            for each in (patient_claw, claw):
                await self._turn(each, None, "say:good;")
            pulse = asyncio.create_task(self._feel_pulse())
            await asyncio.gather(*(one(case) for case in self.cases))
            pulse.cancel()

    async def _feel_pulse(self):
        """Note how long nothing else could run: one session's service must not hold up the others."""
        while True:
            before = time.monotonic()
            await asyncio.sleep(0.005)
            self.longest_stall = max(self.longest_stall, time.monotonic() - before)

    async def _try(self, claw, patient_claw, case):
        started = time.monotonic()
        try:
            async with asyncio.timeout(MOST_SECONDS):
                outcome, text = await self._turn(claw, case.name, f"say:{case.name};")
                again, said = await self._turn(patient_claw, case.name, "And now? say:good;")
        except TimeoutError:
            self.faults.append(f"{case.name}: hangs")
            return
        self.seconds[case.name] = time.monotonic() - started
        self.outcomes[case.name] = text
        allowed = {Ends.ANSWER: ["answer"], Ends.ERROR: ["error"]}.get(case.ends, ["answer", "error"])
        if outcome not in allowed or case.says not in text:
            self.faults.append(f"{case.name}: {outcome} {text[:300]!r}")
        if case.ends is Ends.WHOLE and outcome == "answer" and text not in (TEXT, GOOD_TEXT):
            self.faults.append(f"{case.name}: half an answer passes for a whole one: {text!r}")
        if (again, said) != ("answer", GOOD_TEXT):
            self.faults.append(f"{case.name}: the next turn gives {again} {said[:300]!r}")
        session = await claw.store.find_session(case.name)
        messages = await claw.store.messages(session.id)
        self.faults += [f"{case.name}: {fault}" for fault in faults_of(messages)]
        if case.ends in (Ends.WHOLE, Ends.ANSWER):
            calls = [message for message in messages if message.type is MessageType.TOOL_CALL]
            if any(call.tool_name != CALL[0] or "Asia/Tokyo" not in call.tool_input for call in calls):
                self.faults.append(f"{case.name}: half a call was run: {calls}")

    async def _turn(self, claw, session, message):
        try:
            async for event in claw.send_message(message, session=session, model=self.wire.full_model):
                if isinstance(event, TurnFinishedEvent):
                    return "answer", event.text
        except (ProviderError, TurnError) as error:
            return "error", self._checked(session, str(error))
        except OneClawError as error:
            self.faults.append(f"{session}: {type(error).__name__} is not the service's fault: {error}")
            return "error", str(error)
        except Exception as error:  # noqa: BLE001  # this is what is looked for
            self.faults.append(f"{session}: {type(error).__name__}: {str(error)[:300]}")
            return "error", str(error)
        return "nothing", ""

    def _checked(self, name, text):
        if not text.isprintable() or not text or len(text) > LONGEST_ERROR:
            self.faults.append(f"{name}: an error that is no line: {text[:300]!r}")
        if KEY in text:
            self.faults.append(f"{name}: the key is in the error")
        return text

    def _look_for_key(self):
        for file in self.home.rglob("*"):
            assert not file.is_file() or KEY.encode() not in file.read_bytes(), file


@pytest.fixture
def trial(tmp_path):
    """Tries some misbehaviours; gives what came of it."""

    def run(wire, cases, **settings):
        return Trial(tmp_path / "home", wire, cases, **settings).run()

    return run


@pytest.fixture
def share(is_long):
    """Return all cases in the long form, else an eighth, as all wire formats are read by the same code."""

    def of(wire, cases):
        return cases if is_long else cases[FORMATS.index(wire) :: 2 * len(FORMATS)]

    return of


@pytest.mark.long
@formats(4)
def test_answers_that_make_no_sense(trial, wire, share, is_long):
    trial(wire, [*misbehaviours.answers(wire)[:: 1 if is_long else 3], *share(wire, misbehaviours.strange_calls(wire))])


@pytest.mark.long
@formats(4, 1)
def test_responses_that_are_wrong_around_the_answer(trial, wire, share):
    trial(wire, share(wire, misbehaviours.transport(wire)))


@pytest.mark.long
@formats(4, 2)
def test_every_status(trial, wire, share, is_long):
    cases = share(wire, misbehaviours.statuses(wire))
    trial(wire, cases if is_long else cases[::10], deadline_seconds=10)


@pytest.mark.long
@formats(4)
def test_what_is_huge_holds_no_one_up(trial, wire, share):
    stall = trial(wire, share(wire, misbehaviours.huge(wire))).longest_stall
    assert stall < MOST_STALL_SECONDS


@formats(4, 2)
def test_what_never_ends_is_ended(trial, wire, share):
    trial(wire, share(wire, misbehaviours.endless(wire)), deadline_seconds=DEADLINE_SECONDS)


@pytest.mark.long
@formats(4, 3)
def test_what_goes_on_after_its_end_is_ended(trial, wire):
    """By its own limits, long before the deadline."""
    trial(wire, misbehaviours.outlasting(wire), max_tool_rounds=3)


@pytest.mark.long
@formats(4, 3)
def test_a_connection_cut_or_split_at_any_byte(trial, wire, is_long):
    trial(wire, misbehaviours.cuts(wire, 1 if is_long else 1_201))


@pytest.mark.long
@formats()
def test_every_field_with_every_wrong_value(trial, wire, is_long):
    cases = misbehaviours.wrong_fields(wire)
    if not is_long:
        chosen = {case.name for case in random.Random(wire.provider).sample(cases, 8)}
        cases = [case for case in cases if case.name in chosen | MENDED.get(wire.provider, set())]
    trial(wire, cases)
