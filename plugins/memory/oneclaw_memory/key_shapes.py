"""Detection of keys, tokens and passwords, which are not remembered: memory goes into every request."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (what, re.compile(pattern))
    for what, pattern in (
        ("a private key", r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY"),
        ("a JSON Web Token", r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"),
        ("an API key", r"\b(?:sk|rk|pk)[-_][\w-]{16,}"),  # OpenAI, Anthropic, Stripe
        ("a GitHub token", r"\b(?:gh[opsur]_\w{16,}|github_pat_\w{16,})"),
        ("a GitLab token", r"\bgl[a-z]{2,5}-[\w-]{16,}"),
        ("a Google API key", r"\bAIza[\w-]{20,}"),
        ("a Google access token", r"\bya29\.[\w-]{16,}"),
        ("an AWS key", r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
        ("a Slack token", r"\bxox[a-z]-[\w-]{10,}"),
        ("an access token", r"\b(?:hf|npm|dop_v1|shpat|glsa|xai|gsk|r8|nvapi|pplx)[-_]\w{20,}"),
        ("an access token", r"\bpypi-\w{20,}"),
        ("an access token", r"\bSG\.[\w-]{16,}\.[\w-]{16,}"),  # SendGrid
        ("an access token", r"\b\d{8,10}:[\w-]{35}\b"),  # Telegram
        ("an access token", r"(?i)\bbearer\s+[\w.~+/-]{16,}"),
        ("a URL with a password", r"\b[a-zA-Z][\w+.-]*://[^\s/:@]+:[^\s/@]+@"),
    )
)
_NAMED = re.compile(
    r"(?i)\b(?:api[ _-]?key|access[ _-]?key|secret|token|password|passwd|passphrase|passwort|pwd|pin)\b"
    r"[\"']?\s*(?:is|ist|[:=])\s*[\"'`]?([^\s\"'`]{4,})"
)
_RUN = re.compile(r"[A-Za-z0-9+_=-]{24,}")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_HEXADECIMAL = re.compile(r"(?i)[0-9a-f]{32,}")
_DIGITS = re.compile(r"\d+")
_ENOUGH_BITS_PER_CHARACTER = 3.5
# Random letters change between small, capital and digit nearly two times in three; words and names seldom do.
_ENOUGH_CHANGES = 0.35
_ENOUGH_CHANGES_OF_NAMES = 0.5
_SHORTEST_PLAIN_PASSWORD = 6


def key_shape(text: str) -> str | None:
    """Say what in a text looks like a secret: a few words that do not repeat it; ``None`` if nothing does."""
    for what, pattern in _SHAPES:
        if pattern.search(text):
            return what
    for match in _NAMED.finditer(text):
        if _is_password(match[1].rstrip(".,;!?)")):
            return "a password or key"
    if any(_is_random(run) for run in _RUN.findall(_UUID.sub("", text))):
        return "a key or token"
    return None


def _is_password(value: str) -> bool:
    """Return True if the word after "password is" can be a password, and no word of the sentence."""
    if value.isdigit():
        return True
    has_mixture = any(each.isdigit() for each in value) or any(
        not each.isalnum() and each not in "-'" for each in value
    )
    return len(value) >= _SHORTEST_PLAIN_PASSWORD and has_mixture


def _is_random(run: str) -> bool:
    if _HEXADECIMAL.fullmatch(run):
        return any(each.isdigit() for each in run) and any(each.isalpha() for each in run)
    classes = [_class_of(each) for each in run]
    if not {"small", "capital", "digit"} <= set(classes):
        return False
    changes = sum(one != other for one, other in pairwise(classes)) / len(run)
    # A name in code has few changes, and one number at its end.
    enough = _ENOUGH_CHANGES if len(_DIGITS.findall(run)) > 1 else _ENOUGH_CHANGES_OF_NAMES
    return changes >= enough and _bits_per_character(run) >= _ENOUGH_BITS_PER_CHARACTER


def _class_of(character: str) -> str:
    if character.isdigit():
        return "digit"
    if character.isalpha():
        return "small" if character.islower() else "capital"
    return "sign"


def _bits_per_character(run: str) -> float:
    return -sum(count / len(run) * math.log2(count / len(run)) for count in Counter(run).values())
