"""Which workers are taken for dead."""

from oneclaw_scheduled_tasks.stored import Watch


def test_a_worker_that_counts_up_lives_whatever_its_clock_says():
    watch = Watch(dead_seconds=10)

    assert [watch.dead({"a": beat}, now) for beat, now in [(1, 0), (2, 9), (3, 18), (4, 27)]] == [frozenset()] * 4


def test_a_worker_that_is_still_is_dead_after_a_while_and_not_before():
    watch = Watch(dead_seconds=10)

    assert watch.dead({"a": 5, "b": 1}, 100) == frozenset()
    assert watch.dead({"a": 5, "b": 2}, 109) == frozenset()
    assert watch.dead({"a": 5, "b": 2}, 111) == {"a"}
    assert watch.dead({"a": 6, "b": 3}, 112) == frozenset()


def test_a_worker_that_left_is_forgotten():
    watch = Watch(dead_seconds=10)
    watch.dead({"a": 5}, 0)
    watch.dead({}, 5)

    assert watch.dead({"a": 5}, 20) == frozenset()
