"""Import the modules of the core as programs do; done when imported.

pytest rewrites the assertions of each package that has a plugin for pytest, and ``oneclaw_core`` has one. In a fresh
checkout, rewriting all of it takes longer than importing the tests. Only what authors use in their tests is rewritten.
"""

import sys

from _pytest.assertion.rewrite import AssertionRewritingHook

for _finder in sys.meta_path:
    if isinstance(_finder, AssertionRewritingHook):
        _finder._must_rewrite -= {name for name in _finder._must_rewrite if name.partition(".")[0] == "oneclaw_core"}
        _finder._must_rewrite.add("oneclaw_core.testing")
        _finder._marked_for_rewrite_cache.clear()
