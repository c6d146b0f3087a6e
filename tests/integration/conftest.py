"""The wire formats that a test is tried with."""

from collections import defaultdict
from zlib import crc32

import pytest
from how_long import IS_LONG
from wire_formats import FORMATS, WireFormat

# Of four formats. Beside that, each provider's plugin has tests of its own.
TRIED = {"test_every_model.py": 2}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Leave all but one format of each test to the long form, a different one from test to test."""
    cases = defaultdict(list)
    for item in () if IS_LONG else items:
        values = item.callspec.params.values() if hasattr(item, "callspec") else ()
        format_ids = [each.provider for each in values if isinstance(each, WireFormat)]
        if format_ids:
            name = item.nodeid.replace(format_ids[0], "")
            cases[name].append(item)
    for name, of_formats in cases.items():
        tried = TRIED.get(of_formats[0].path.name, 1)
        begin = crc32(name.encode()) % len(FORMATS)
        for item in [*of_formats[begin:], *of_formats[:begin]][tried:]:
            item.add_marker(pytest.mark.long)
