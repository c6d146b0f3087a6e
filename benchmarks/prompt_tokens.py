"""Count the tokens of the tools and the system prompt of a request.

``python -m benchmarks.prompt_tokens FILE`` takes the last request of a file of which each line is one.

It is a program because the vocabulary takes 150 MB, which a process that starts others would pass on to what is
measured of their memory.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from benchmarks.measuring import tokens_of, tokens_of_text


def main(path: Path) -> None:
    """Print the counts as a JSON list."""
    request = json.loads(path.read_text(encoding="utf-8").splitlines()[-1])
    prompt = "\n".join(
        _text(each["content"]) for each in request["messages"] if each["role"] in ("system", "developer")
    )
    print(json.dumps([tokens_of(tool["function"] for tool in request.get("tools", ())), tokens_of_text(prompt)]))


def _text(content: Any) -> str:
    """The text of a message, which may be a list of parts."""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
