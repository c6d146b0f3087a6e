"""Lines that a person writes while a turn runs."""

import asyncio

from oneclaw_channels import MOST_WAITING, Conversation, TurnQueue


def play(scene):
    """Run a scene with a queue; each line waits until its event is set."""

    async def run():
        done, gates = [], {}

        async def work(line):
            if not line.startswith("/"):
                await gates.setdefault(line, asyncio.Event()).wait()
            done.append(line)

        conversation = Conversation(None, None, print)
        queue = TurnQueue(conversation, work, lambda line: line == "/now")
        await scene(queue, gates, done)
        await queue.close()
        return done, conversation.waiting

    return asyncio.run(run())


async def settle():
    for _ in range(5):
        await asyncio.sleep(0)


def test_lines_are_done_one_after_the_other_and_some_at_once():
    async def scene(queue, gates, done):
        for line in ("one", "two", "/now"):
            queue.put(line)
        await settle()
        assert done == ["/now"]
        gates["one"].set()
        await settle()
        assert queue.line == "two"
        gates["two"].set()
        await settle()
        assert not queue.is_busy

    assert play(scene) == (["/now", "one", "two"], [])


def test_stopping_goes_on_with_what_waits():
    async def scene(queue, gates, done):
        queue.put("one")
        queue.put("two")
        await settle()
        assert queue.stop()
        await settle()
        assert queue.line == "two"
        gates["two"].set()
        await settle()
        assert not queue.stop()

    assert play(scene)[0] == ["two"]


def test_no_more_wait_than_anybody_types_and_closing_drops_them():
    async def scene(queue, gates, done):
        assert all(queue.put(str(number)) for number in range(MOST_WAITING + 1))
        assert not queue.put("one too many")

    assert play(scene) == ([], [])
