"""Every file of the corpus has a line that says where it comes from and what is right, and every kind a test."""

from field_corpus import FIELD, RIGHT, all_observations


def test_every_file_has_a_line_and_every_line_a_file():
    files = {path for path in FIELD.glob("*/*") if path.is_file() and path.name != RIGHT}
    assert {each.path for each in all_observations()} == {each for each in files if each.suffix != ".pyc"}


def test_every_line_names_a_public_source_and_what_is_right():
    for each in all_observations():
        assert each.source.startswith("https://"), each.path
        assert each.right, each.path


def test_every_kind_stands_in_the_table_of_the_readme():
    table = (FIELD / "README.md").read_text("utf-8")
    assert not [each.kind for each in all_observations() if f"`{each.kind}`" not in table]
