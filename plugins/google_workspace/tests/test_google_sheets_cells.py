"""What a question says of what is written into cells."""

import pytest
from oneclaw_google_workspace.sheets.values import USER_ENTERED, formula_note


@pytest.mark.parametrize(
    "cell",
    ['=IMPORTDATA("https://x")', ' =IMPORTXML("https://x";"a")', '\t+IMAGE("https://x")', '-importrange ("x";"A1")'],
)
def test_formulas_that_reach_out_are_told_however_they_begin(cell):
    assert ", of which 1 can send data elsewhere: " in formula_note([["a", cell]], USER_ENTERED)


@pytest.mark.parametrize("cell", ["", "+46 1", "-5", " a", 'IMPORTDATA("https://x")', None, 5, True])
def test_what_is_no_formula_is_not_told(cell):
    assert formula_note([[cell]], USER_ENTERED) == ""
    assert formula_note([["=IMAGE(A1)"]], "RAW") == ""
