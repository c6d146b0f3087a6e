"""Names that a person takes for one another, though they are written with other characters."""

# ruff: noqa: RUF001  # they are to be alike

from __future__ import annotations

import re
import unicodedata

# Letters of other alphabets, small capitals, digits and signs that fonts hardly tell from Latin letters.
_LETTERS = (
    "аaеeоoрpсcуyхxіiјjѕsԁdһhԛqԝwкkтtмmгrүyАAВBЕEКKМMНHОOРPСCТTУYХXІlЈJЅSӀlӏlԌGԚQԜWҮY"
    "οoαaνvρpιiυuκkγyσoτtΑAΒBΕEΖZΗHΙlΚKΜMΝNΟOΡPΤTΥYΧXϹCϲcϳjͿJ"
    "օoսuոnհhցgզqՕOՍUՏSԼL"
    "ᎪAᎬEᎳWᏚSᏢPᎢTᎡRᎷMᎻHᏀGᏟCᏙVᏞLᏦKᏴBᏃZᎫJᎠD"
    "ᴀaʙbᴄcᴅdᴇeɢgʜhɪiᴊjᴋkʟlᴍmɴnᴏoᴘpʀrꜱsᴛtᴜuᴠvᴡwʏyᴢzıiɑaɡgɩiȷj"
    "Il1l|lǀl0O`'´'‘'’'ʹ'ʼ'‐-‑-‒-–-—-−-·."
)
_LIKE = str.maketrans({letter: _LETTERS[place + 1] for place, letter in enumerate(_LETTERS) if place % 2 == 0})
# Letters and signs to Unicode, and nothing to see; what chooses between pictures of a character.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_KINDS_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


def has_unseen(name: str) -> bool:
    """Return True if a name holds a character that a person does not see, or that reorders others."""
    return _UNSEEN.search(name) is not None or any(unicodedata.category(each) in _KINDS_UNSEEN for each in name)


def look(name: str) -> str:
    """Return a form that is equal for names that a person takes for one another, whatever their case."""
    seen = "".join(each for each in name if not has_unseen(each))
    latin = unicodedata.normalize("NFKC", seen).translate(_LIKE).casefold()
    return " ".join(unicodedata.normalize("NFKC", latin).translate(_LIKE).replace("rn", "m").split())
