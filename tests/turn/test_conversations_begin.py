"""Sessions of a home begin, branch and end, and plugins are told."""

import asyncio
from types import SimpleNamespace

import pytest
from histories import assistant, user

from oneclaw_core import NotFoundError, SessionBusyError
from oneclaw_core.sessions.conversations import Conversations
from oneclaw_core.sessions.sqlite_backend import SqliteBackend
from oneclaw_core.sessions.store import Store

HOOKS = frozenset({"session_created", "session_deleted"})


def played(tmp_path, work, hooks=HOOKS):
    """Do some work with the sessions of a home; return what plugins were told."""
    told = []
    plugins = SimpleNamespace(hooks=hooks, observe=lambda hook, session: told.append((hook, session)))

    async def run():
        async with await Store.open(SqliteBackend(tmp_path / "test.db"), lock_directory=tmp_path) as store:
            await work(store, Conversations(store, plugins, "/srv"))

    asyncio.run(run())
    return [(hook, session.name, session.agent) for hook, session in told]


def test_a_session_begins_with_all_that_is_known_of_it(tmp_path):
    async def work(store, conversations):
        first = await conversations.begin("story", "Author", "a/b", "Once\nupon " + "a time " * 20)
        assert (first.name, first.agent, first.model) == ("story", "Author", "a/b")
        assert first.title.startswith("Once upon a time")
        assert len(first.title) <= 50
        second = await conversations.begin(None, "Critic", None, None, first.id)
        assert (second.name, second.model, second.title, second.parent_id) == (None, None, None, first.id)
        await store.create_session(name="newest", agent="Author")
        assert (await store.last_used_session("/srv")).id == first.id

    assert played(tmp_path, work) == [("session_created", "story", "Author"), ("session_created", None, "Critic")]


@pytest.mark.parametrize("hooks", [HOOKS, frozenset()])
def test_a_session_that_is_there_is_gone_on_with(tmp_path, hooks):
    async def work(store, conversations):
        begun = await store.create_session(name="story", agent="Author")
        assert (await conversations.begin("story", "Critic", "a/b", "Another")).id == begun.id
        assert (await store.find_session("story")).agent == "Author"

    assert played(tmp_path, work, hooks) == []


def test_a_branch_is_a_session_of_its_own_name(tmp_path):
    async def work(store, conversations):
        begun = await store.create_session(name="story", agent="Author")
        _, _, third = await store.append(begun.id, [user("One"), assistant("Two"), user("Three")])
        made = await conversations.branch("story", "tale", third.sequence)
        assert made.name == "tale"
        assert [each.content for each in await store.messages(made.id)] == ["One", "Two"]
        assert (await conversations.branch("story", None, None)).name is None
        with pytest.raises(
            NotFoundError, match=r"^there is no session 'novel'; list them with: oneclaw sessions list$"
        ):
            await conversations.branch("novel", None, None)

    assert played(tmp_path, work) == [("session_created", "tale", "Author"), ("session_created", None, "Author")]


def test_a_session_ends_while_no_turn_runs(tmp_path):
    async def work(store, conversations):
        begun = await store.create_session(name="story", agent="Author")
        async with store.session_lock(begun.id, 0):
            with pytest.raises(SessionBusyError):
                await conversations.delete("story")
        assert (await conversations.delete("story")).id == begun.id
        assert await store.find_session("story") is None
        with pytest.raises(
            NotFoundError, match=r"^there is no session 'story'; list them with: oneclaw sessions list$"
        ):
            await conversations.delete("story")

    assert played(tmp_path, work) == [("session_deleted", "story", "Author")]


def test_hooks_that_no_plugin_has_are_not_called(tmp_path):
    async def work(store, conversations):
        await conversations.begin("story", "Author", None, None)
        await conversations.delete("story")

    assert played(tmp_path, work, frozenset()) == []
