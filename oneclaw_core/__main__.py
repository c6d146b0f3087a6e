"""``python -m oneclaw_core`` is ``oneclaw``."""

import sys

from oneclaw_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
