from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oneclaw_pdf.dates import iso_date


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("D:20261121150509+01'00'", "2026-11-21T15:05:09+01:00"),
        ("D:20261121150509-03'30", "2026-11-21T15:05:09-03:30"),
        ("D:20261121150509Z", "2026-11-21T15:05:09+00:00"),
        ("D:20261121150509Z00'00'", "2026-11-21T15:05:09+00:00"),
        ("20261121150509", "2026-11-21T15:05:09"),
        ("D:202611211505", "2026-11-21T15:05:00"),
        ("D:20261121", "2026-11-21"),
        ("D:202611", "2026-11"),
        ("D:2026", "2026"),
        ("D:20261321", "D:20261321"),
        ("D:20261121150509+99'00'", "D:20261121150509+99'00'"),
        ("last Tuesday", "last Tuesday"),
    ],
)
def test_dates_are_as_precise_as_in_the_file(text, iso):
    assert iso_date(text) == iso


@given(st.text(st.sampled_from("D:0123456789Z+-'"), max_size=30))
def test_no_text_fails(text):
    assert iso_date(text) or not text
