"""Placeholders of statements, translated for psycopg."""

from __future__ import annotations

import pytest
from oneclaw_postgres.connection import for_psycopg


@pytest.mark.parametrize(
    ("sql", "translated"),
    [
        ("SELECT :a::text[], 5 % :b", b"SELECT %(a)s::text[], 5 %% %(b)s"),
        ("SELECT $$:a$$, $x$ :a $y$ $x$ || :a", b"SELECT $$:a$$, $x$ :a $y$ $x$ || %(a)s"),
        ("SELECT 'a'::text LIKE '%'", b"SELECT 'a'::text LIKE '%'"),
    ],
)
def test_placeholders_are_translated_and_casts_stay(sql: str, translated: bytes) -> None:
    assert for_psycopg(sql)[0] == translated
