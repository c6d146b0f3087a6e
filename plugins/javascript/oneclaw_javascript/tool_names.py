"""The tools that a script names, found without running it."""

from __future__ import annotations

import re

# Texts and comments are no code; what stands in a template may be.
_NO_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'", re.DOTALL)
_MEMBER = re.compile(r"(?<![\w$.])tools\s*(?:\?\.|\.)\s*([A-Za-z_$][\w$]*)")
_ITEM = re.compile(r"(?<![\w$.])tools\s*\[\s*(['\"])([\w-]+)\1\s*\]")
_UNPACKED = re.compile(r"(?:const|let|var)\s*\{([^{}]*)\}\s*=\s*tools\b")
_OWN = re.compile(r"(?:const|let|var|function|class)\s+tools\b|\btools\s*=(?!=)")
_FIRST_NAME = re.compile(r"\s*([A-Za-z_$][\w$]*)")


def named_tools(code: str) -> list[str]:
    """Return the names of the tools that a script calls as ``tools.NAME``, in their order.

    Args:
        code: the script; one that declares a variable ``tools`` names no tools.
    """
    plain = _NO_CODE.sub(lambda match: " " if match[0].startswith("/") else '""', code)
    if _OWN.search(plain):
        return []
    names = [match[1] for match in _MEMBER.finditer(plain)]
    names += [match[2] for match in _ITEM.finditer(code)]
    for match in _UNPACKED.finditer(plain):
        parts = (_FIRST_NAME.match(part) for part in match[1].split(",") if not part.lstrip().startswith("..."))
        names += [found[1] for found in parts if found]
    return list(dict.fromkeys(names))
