"""What a turn writes to the database, and in how many transactions."""

import asyncio

from stage import ScriptedModel, Stage, calls, says

_FRAME_BYTES = 4096 + 24  # a page of the database in the write-ahead log


def played(tmp_path):
    """Play a turn that loads a group, calls its tool and answers; return its writing transactions and the pages."""
    stage = Stage(tmp_path)
    log = tmp_path / "oneclaw.db-wal"
    statements = []

    def model():
        load = calls(("load_tool_group", {"group_name": "pdf"}), text="Let me see.")
        return ScriptedModel(load, calls(("pdf_info", {})), says("6"))

    async def run():
        async with stage.session():
            await stage.send(model(), "how many pages?")
            [connection] = stage.store._database._connections
            connection.driver.set_trace_callback(statements.append)
            before = log.stat().st_size
            await stage.send(model(), "and now?")
            return (log.stat().st_size - before) // _FRAME_BYTES

    pages = asyncio.run(run())
    return [each for each in statements if each.startswith("BEGIN IMMEDIATE")], pages


def test_a_turn_is_one_transaction_for_each_thing_that_must_not_be_lost(tmp_path):
    transactions, _ = played(tmp_path)
    # The message; each answer with its calls, before they run; the results, when they arrive; the final answer.
    assert transactions == ["BEGIN IMMEDIATE"] * 6


def test_a_turn_writes_few_pages(tmp_path):
    _, pages = played(tmp_path)
    assert 0 < pages <= 48
