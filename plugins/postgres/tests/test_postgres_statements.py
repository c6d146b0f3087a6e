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
        ("SELECT :a, :b_2", b"SELECT %(a)s, %(b_2)s"),
        ("x = ':a' AND y = :a", b"x = ':a' AND y = %(a)s"),
        ("'it''s :a' || :b", b"'it''s :a' || %(b)s"),
        ('SELECT "a:b" FROM t', b'SELECT "a:b" FROM t'),
        ("a -- :no\n= :a", b"a -- :no\n= %(a)s"),
        ("a /* :no\n */ = :a", b"a /* :no\n */ = %(a)s"),
    ],
)
def test_placeholders_are_translated_and_casts_stay(sql: str, translated: bytes) -> None:
    assert for_psycopg(sql)[0] == translated
