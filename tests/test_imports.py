"""Imports between the modules of the core."""

from import_graph import circles, import_graph

MOST = 4


def test_circles_of_modules_are_small():
    large = [sorted(circle) for circle in circles(import_graph()) if len(circle) > MOST]

    assert large == []
