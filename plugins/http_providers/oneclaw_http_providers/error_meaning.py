"""Find out what an error of a model service means. No I/O.

Services word the same error in their own ways and languages, and few of them use the status codes and types alike. So
numbers and fields count first: a request that is longer than what is allowed is too long, whatever it is called. Words
count where there are no numbers. What nothing here explains is found out by the turn, see
:mod:`oneclaw_core.models.recovery`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

# Smaller numbers count tools or images, larger ones are times or ids.
_FEWEST, _MOST = 256, 100_000_000
_NUMBER = re.compile(r"(?<![\w.,#/-])(\d{1,3}(?:[,.\u00a0\u202f_ ']\d{3})+|\d+)( ?[kK]\b)?(?![\w/]|[.-]\w)")
_SUM = re.compile(r"\b(\d{1,9}) ?\+ ?(\d{1,9}) ?> ?(\d{1,9})\b")  # Anthropic
_URL = re.compile(r"https?://\S+")
_LIMIT = re.compile(
    r"limit|m[aá]xi?m|\bmax\b|\bmax_|maks|massim|allow|at most|up to|available|capacity|n_ctx|window"
    r"|> ?$|≤|<=|\[\d+, ?$|l[ií]mite|höchst|grenze|макс|лимит|предел|最大|上限|最多|最高|限制|不超过"
    r"|最大|不能超过|최대|제한",
    re.IGNORECASE,
)
# The request as a whole, in the languages that services speak.
_OF_INPUT = re.compile(
    r"context|prompt|\binput|messages|history|conversation|kontext|eingabe|contexte|contexto|entrada|contesto"
    r"|контекст|запрос|上下文|输入|輸入|提示词|コンテキスト|プロンプト|入力|컨텍스트|프롬프트|입력",
    re.IGNORECASE,
)
_TOKENS = re.compile(r"token|jeton|токен|トークン|토큰|n_ctx|context|kontext|contest|контекст|上下文", re.IGNORECASE)
_LENGTH = re.compile(
    r"length|size|characters|\bchars\b|bytes|länge|longueur|longitud|comprimento|lunghezza|длин|长度|長度|長さ|길이",
    re.IGNORECASE,
)
_OTHER_UNITS = re.compile(r"size|characters|\bchars\b|bytes|string", re.IGNORECASE)
_OF_OUTPUT = re.compile(r"max_(completion_|output_|new_)?tokens|(completion|output|generated) tokens", re.IGNORECASE)
_OF_FILES = re.compile(r"\b(images?|pictures?|files?|pdfs?|documents?|audio|videos?|pixels?)\b|base64", re.IGNORECASE)
_OF_TOOLS = re.compile(r"\btools?\b|\bfunctions?\b|description|schema", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[ _-]?(length|window|size|limit)|maximum context|too many (input )?tokens|input token count"
    r"|\b(prompt|input|request|conversation|messages?|context|history|tokens?)\b[^.;:]{0,40}"
    r"\b(too (long|large|big|many)|exceed(s|ed|ing)?|longer than|more than|greater than|over(flow(s|ed)?|s the))\b"
    r"|context shift|上下文.{0,10}(过长|超|太长)|(输入|提示词?).{0,10}(过长|超长|太长|超出|超过)"
    r"|слишком (длинн|больш)|zu lang|trop long|demasiado larg|troppo lung|muito long|長すぎ|너무 (길|깁|큽)",
    re.IGNORECASE,
)
_LONG_CODE = re.compile(
    r"context|prompt_?too_?long|request_?too_?large|too_many_tokens|exceed_?(max_)?(length|tokens)", re.I
)

_MONEY = r"(balance|credits?|funds?|quota|budget|allowance|余额|餘額|额度|額度|配额|点数|積分|积分)"
_LACK = (
    r"(insufficient|not enough|no (more|remaining)|exhausted|depleted|used up|ran out|run out|out of|negative|too low"
    r"|exceeded|overdue|empty|zero|不足|耗尽|用尽|用完|已用完)"
)
_NO_CREDIT = re.compile(
    rf"{_LACK}.{{0,30}}{_MONEY}|{_MONEY}.{{0,30}}{_LACK}|spend(ing)?[ -](cap|limit)|API usage limits|arrear|欠费|欠費"
    r"|top.?up your|purchase (more )?credits|payment[ _]required|残高|잔액|баланс|недостаточно средств|guthaben"
    r"|\bsolde\b|\bsaldo\b",
    re.IGNORECASE,
)
_NO_CREDIT_CODE = re.compile(
    r"insufficient_?(quota|balance|credit|fund)|billing|arrear|exceeded_?budget|no_?credit", re.I
)
# A quota that fills up again by itself.
_OF_TIME = re.compile(
    r"per[ _-]?(second|minute|min|hour)|\b[rt]p[ms]\b|concurren|retry (in|after)|每分钟", re.IGNORECASE
)
_USED = re.compile(r"\bused:? \d", re.IGNORECASE)

_CONTENT = re.compile(
    r"content[ _-]?(filter|polic|management|moderation|security|violation)|moderation|\bflagged\b|data_?inspection"
    r"|inappropriate|prohibited content|(usage|safety|responsible).{0,12}polic|safety (system|filter)"
    r"|sensitive (content|word)|usage guidelines|violat\w+.{0,40}(polic|terms|guideline)"
    r"|违规|敏感|审核|不当内容|不適切|부적절",
    re.IGNORECASE,
)
_CONTENT_CODE = re.compile(
    r"content_?(filter|polic)|moderation|data_?inspection|sensitive|safety|prohibited_content", re.I
)

# Templates of local servers raise these as errors of the server (HTTP 500).
_ABOUT_REQUEST = re.compile(
    r"not support|unsupported|\bmust\b|alternate|\binvalid\b|jinja|template|not (allowed|permitted)|unexpected role"
    r"|unknown role|malformed|schema|missing (required|field)|required (field|property|parameter)"
    r"|failed to (parse|process|load|decode) (the |an |your )?(image|file|input|request|messages?|audio)"
    r"|cannot (be )?(parse|process|decode)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TokenCounts:
    """Length of a request and its limit, as a service says.

    Attributes:
        allowed: the longest that it takes, in tokens; ``None`` if it does not say.
        requested: the length of the request, in tokens; ``None`` if it does not say.
    """

    allowed: int | None = None
    requested: int | None = None

    @property
    def is_over(self) -> bool:
        """True if the request is longer than what is allowed."""
        return self.allowed is not None and self.requested is not None and self.requested > self.allowed


def overflow_in(
    text: str, codes: Iterable[str], fields: Mapping[str, int], *, is_rate_limit: bool = False
) -> TokenCounts | None:
    """Return the token counts of an error that means that a request is too long; ``None`` if it means another thing.

    Args:
        text: what the service says.
        codes: its codes and types.
        fields: the numbers in its error, by name.
        is_rate_limit: True if it calls the error one. It is too long all the same if it alone takes more tokens than
            the limit.
    """
    text = _URL.sub("", text)
    counts = _counts_of_fields(fields)
    if counts.is_over:
        return counts
    counts = _counts_of_text(text)
    if is_rate_limit:
        return counts if counts.is_over and _TOKENS.search(text) and not _USED.search(text) else None
    if any(_LONG_CODE.search(code) for code in codes):
        return counts
    has_tokens = _TOKENS.search(text) is not None
    if _OF_OUTPUT.search(text) and not _OF_INPUT.search(text):
        return None
    if not has_tokens and (_OF_FILES.search(text) or _OF_TOOLS.search(text)):
        return None
    in_tokens = counts if has_tokens or not _OTHER_UNITS.search(text) else TokenCounts()
    if counts.is_over and (has_tokens or _LENGTH.search(text)):
        return in_tokens
    if counts.allowed is not None and _OF_INPUT.search(text) and (has_tokens or _LENGTH.search(text)):
        return in_tokens
    return in_tokens if _TOO_LONG.search(text) else None


def lacks_credit(status: int, text: str, codes: Iterable[str], *, comes_back: bool) -> bool:
    """Return True for an error that means that the account has no money left.

    Args:
        status: of the response.
        text: what the service says.
        codes: its codes and types.
        comes_back: True if it says when to ask again, as for a limit in time.
    """
    if status == 402 or any(_NO_CREDIT_CODE.search(code) for code in codes):
        return True
    return not comes_back and _OF_TIME.search(text) is None and _NO_CREDIT.search(_URL.sub("", text)) is not None


def refuses_content(text: str, codes: Iterable[str]) -> bool:
    """Return True for an error that means that the service objects to what a message says."""
    return any(_CONTENT_CODE.search(code) for code in codes) or _CONTENT.search(text) is not None


def is_about_request(text: str) -> bool:
    """Return True if a service that calls an error its own blames the request, which will fail again as it is."""
    return _ABOUT_REQUEST.search(text) is not None


def most_output_tokens(text: str) -> int | None:
    """Return the longest answer that a service allows, if it refuses a request for that; ``None`` if not."""
    if _OF_OUTPUT.search(text) is None or _OF_INPUT.search(text):
        return None
    counts = _counts_of_text(text)
    return counts.allowed if counts.is_over else None


def _counts_of_fields(fields: Mapping[str, int]) -> TokenCounts:
    allowed = requested = None
    for name, number in fields.items():
        if not _FEWEST <= number < _MOST:
            continue
        if re.search(r"ctx|context|max|limit|allowed", name):
            allowed = number
        elif re.search(r"prompt|input|request|actual|token", name):
            requested = number
    return TokenCounts(allowed, requested)


def _counts_of_text(text: str) -> TokenCounts:
    if (summed := _SUM.search(text)) is not None:
        return TokenCounts(int(summed[3]), int(summed[1]) + int(summed[2]))
    found = list(_numbers_in(text))
    limits = [number for number, before in found if _LIMIT.search(_OF_OUTPUT.sub("", before))]
    allowed = limits[0] if limits else None
    others = [number for number, before in found if number not in limits]
    if allowed is None and len(set(others)) == 2 and _TOKENS.search(text):
        allowed = min(others)
    requested = max((number for number in others if allowed is not None and number > allowed), default=None)
    return TokenCounts(allowed, requested)


def _numbers_in(text: str) -> Iterator[tuple[int, str]]:
    """Yield the numbers that can be counts, each with the words before it."""
    end = 0
    for match in _NUMBER.finditer(text):
        number = int(re.sub(r"\D", "", match[1])) * (1024 if match[2] else 1)
        before = text[max(end, match.start() - 60) : match.start()]
        if _FEWEST <= number < _MOST:
            yield number, before
            end = match.end()
