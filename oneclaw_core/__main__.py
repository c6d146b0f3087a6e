"""``python -m oneclaw_core`` is ``oneclaw``."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current directory, which Python has put here, may hold anything, also what is named like a library.
        del sys.path[0]

    from oneclaw_core.cli.main import main

    sys.exit(main())
