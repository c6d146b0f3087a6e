"""Failures between a tool and Google: the errors that a model sees, Google's refusals, retries and deadlines."""

from __future__ import annotations

import asyncio
import json
import random
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from oneclaw_core import OneClawError
from oneclaw_google_workspace.scopes import SERVICES, login_options, missing_scopes

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from oneclaw_core import ToolContext
    from oneclaw_google_workspace.accounts import Account
    from oneclaw_google_workspace.methods import ApiRequest
    from oneclaw_google_workspace.scopes import Need

_sent: ContextVar[list[str] | None] = ContextVar("google_changes_sent", default=None)
_RATE_LIMITS = frozenset(
    {
        "rateLimitExceeded",
        "userRateLimitExceeded",
        "sharingRateLimitExceeded",
        "RATE_LIMIT_EXCEEDED",
        "RESOURCE_EXHAUSTED",
    }
)
_QUOTAS = frozenset({"dailyLimitExceeded", "quotaExceeded", "storageQuotaExceeded", "teamDriveFileLimitExceeded"})
_SCOPES = frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "insufficientScopes"})
_SWITCHED_OFF = frozenset({"accessNotConfigured", "SERVICE_DISABLED"})
_TRANSIENT = frozenset({408, 500, 502, 503, 504})
_MESSAGE_CHARACTERS = 500
# Which tools show what a method has changed, by the beginning of its id; the first that fits.
_LOOKING = {
    "gmail.users.settings.": "gmail_settings_get",
    "gmail.users.labels.": "gmail_settings_get",
    "gmail.users.threads.": "gmail_read",
    "gmail.": "gmail_search or gmail_read",
    "drive.permissions.": "drive_get_file and include_permissions",
    "drive.": "drive_get_file or drive_search_files",
    "calendar.": "calendar_list_events or calendar_get_event",
    "people.": "contacts_search or contacts_list",
    "docs.": "docs_read",
    "sheets.spreadsheets.values.": "sheets_read_values",
    "sheets.": "sheets_get_info or sheets_read_values",
    "slides.": "slides_read",
    "forms.": "forms_get",
    "tasks.": "tasks_list",
}
_LONGEST_PAUSE_SECONDS = 86_400.0
MAX_TRIES = 5
# All waiting of one tool call together; the shortest timeout of a tool is 30 s.
MAX_WAIT_SECONDS = 20.0
FIRST_PAUSE_SECONDS = 1.0
MAX_PAUSE_SECONDS = 8.0
# Less than a request leaves, which says more about what was sent.
MARGIN_SECONDS = 1.0
_CLEAN_UP_SECONDS = 0.5


class GoogleError(OneClawError):
    """A tool cannot do what it was asked; becomes the tool's result.

    Attributes:
        error_type: ``not_available`` (no one is signed in, or not for this), ``permission_denied``, ``not_found``,
            ``validation_error``, ``conflict``, ``rate_limited``, ``quota_exceeded``, ``service_unavailable``,
            ``unknown_outcome`` (it may have been done or not) or ``execution_error``.
        status: of the HTTP response behind it, ``None`` if there was none.
        reasons: Google's own words for it, such as ``notFound``.
        was_unclear: whether a try before the last one may have been carried out.
    """

    was_unclear = False

    def __init__(
        self, error_type: str, message: str, *, status: int | None = None, reasons: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.status = status
        self.reasons = reasons


def invalid(message: str) -> GoogleError:
    """Make the error for arguments that do not go together.

    Args:
        message: a sentence that says what to give instead.
    """
    return GoogleError("validation_error", message)


def begin_changes() -> list[str]:
    """Begin a tool call.

    Returns:
        The ids of the methods that have changed something, filled as the call goes on.
    """
    sent: list[str] = []
    _sent.set(sent)
    return sent


def note_change(method_id: str) -> None:
    """Remember that a method that changes something is being sent."""
    sent = _sent.get()
    if sent is not None:
        sent.append(method_id)


def changes_sent() -> list[str]:
    """List the ids of the methods that have changed something in this tool call."""
    return _sent.get() or []


@dataclass(frozen=True, slots=True)
class Failure:
    """A response that is no success.

    Attributes:
        status: of HTTP.
        message: Google's sentence, on one line.
        reasons: its words for programs, such as ``notFound``.
        retry_after_seconds: how long Google asks to wait, ``None`` if it does not.
    """

    status: int
    message: str
    reasons: frozenset[str]
    retry_after_seconds: float | None = None

    @property
    def is_rate_limit(self) -> bool:
        """True if there were too many requests: this one was not carried out."""
        return self.status == 429 or (self.status == 403 and bool(self.reasons & _RATE_LIMITS))

    @property
    def is_transient(self) -> bool:
        """True if Google failed; the request may have been carried out."""
        return self.status in _TRANSIENT

    @property
    def is_unauthorized(self) -> bool:
        """True if the access token was refused; the request was not carried out."""
        return self.status == 401


def read_failure(status: int, headers: Mapping[str, str], content: bytes) -> Failure:
    """Read a response that is no success, whatever it holds.

    Args:
        status: of HTTP.
        headers: with names in any case, as httpx gives them.
        content: the body.
    """
    message, reasons = "", set()
    try:
        error = json.loads(content)["error"]
        message = str(error.get("message", ""))
        details = [*_objects(error.get("errors")), *_objects(error.get("details"))]
        reasons = {str(each["reason"]) for each in details if each.get("reason")}
        reasons |= {str(error["status"])} if error.get("status") else set()
        message += _named_places(details, message)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass  # a proxy's page, or nothing at all
    line = " ".join(message.split())
    return Failure(status, line[:_MESSAGE_CHARACTERS], frozenset(reasons), _retry_after(headers))


def error_for(failure: Failure, request: ApiRequest, account: Account, need: Need) -> GoogleError:
    """Make the error that a model is told, once there is nothing left to try.

    Args:
        failure: the last response.
        request: what was sent.
        account: for whom.
        need: of the call.
    """
    error_type, message = _described(failure, request, account, need)
    return GoogleError(error_type, message, status=failure.status, reasons=failure.reasons)


def unclear(request: ApiRequest, what_happened: str) -> GoogleError:
    """Make the error for a request of which no one knows whether it was carried out."""
    hint = request.unclear_hint or how_to_look(request.method.id)
    error = GoogleError(
        "unknown_outcome",
        f"{what_happened}, so it may have been done or not. {hint.rstrip('.')} before trying again.",
    )
    error.was_unclear = True
    return error


def how_to_look(method_id: str) -> str:
    """Say with which tool to find out whether a method has changed something."""
    tools = next((tools for prefix, tools in _LOOKING.items() if method_id.startswith(prefix)), "")
    return f"Look whether it was done with {tools}" if tools else "Look whether it was done"


def _described(failure: Failure, request: ApiRequest, account: Account, need: Need) -> tuple[str, str]:
    said = f"Google says: {failure.message}" if failure.message else f"Google answered with status {failure.status}."
    api = request.method.api
    if failure.is_unauthorized:
        return (
            "not_available",
            f"Google does not accept the sign-in of {account.label} any more. The user can renew it with: oneclaw "
            f"google login --account {account.name}",
        )
    if failure.is_rate_limit:
        wait = f"{failure.retry_after_seconds:.0f} s" if failure.retry_after_seconds else "a minute"
        return "rate_limited", f"Google takes no more requests for now. Try again in {wait}."
    if failure.is_transient:
        if not request.is_repeatable:
            error = unclear(request, f"Google failed with status {failure.status}")
            return error.error_type, str(error)
        return "service_unavailable", f"{api.title} is not available at the moment (status {failure.status}). {said}"
    if failure.status == 403:
        return _forbidden(failure, request, account, need, said)
    if failure.status in (404, 410):
        return (
            "not_found",
            f"There is nothing of that id that {account.label} can see: it may be deleted, misspelled, or not shared "
            f"with this account. {said}",
        )
    if failure.status in (409, 412):
        return "conflict", f"It was changed or made by somebody else meanwhile. {said}"
    if failure.status in (400, 411, 413, 416, 422):
        return "validation_error", f"Google does not accept this. {said}"
    return "execution_error", said


def _forbidden(failure: Failure, request: ApiRequest, account: Account, need: Need, said: str) -> tuple[str, str]:
    api = request.method.api
    if failure.reasons & _SWITCHED_OFF:
        return (
            "not_available",
            f"The {api.title} is switched off in the Google Cloud project of the OAuth client. The user can switch "
            f"it on at {api.switch_on_url} and try again some minutes later.",
        )
    if failure.reasons & _SCOPES:
        return "not_available", lacking_scopes(account, need, need.scopes)
    if failure.reasons & _QUOTAS:
        return "quota_exceeded", f"A quota at Google is used up. {said}"
    return "permission_denied", f"{account.label} may not do this. {said}"


def lacking_scopes(account: Account, need: Need, scopes: tuple[str, ...]) -> str:
    """Say that an account was not signed in for what a call needs, and with which command it is.

    Args:
        account: the account.
        need: of the call.
        scopes: all that are needed.
    """
    missing = missing_scopes(scopes, account.scopes) or list(scopes)
    options = login_options(need.service, missing)
    if need.service not in account.services and "--services" not in options:
        options = f"--services {need.service} {options}"
    return (
        f"The Google sign-in of {account.label} does not include what {need.caller} needs ({', '.join(missing)}). The "
        f"user can add it with: oneclaw google login --account {account.name} {options}"
    )


def reading_only(account: Account, need: Need) -> str:
    """Say that an account is signed in to a service for reading, and with which command it is for changes, too."""
    return (
        f"{account.label} is signed in to {SERVICES[need.service].title} for reading only, and {need.caller} changes "
        f"something. The user can allow that with: oneclaw google login --account {account.name} "
        f"--services {need.service}"
    )


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _named_places(details: list[dict[str, Any]], message: str) -> str:
    """Name the parameters and fields that Google found fault with, where its sentence does not."""
    places = [str(each["location"]) for each in details if each.get("location")]
    for each in details:
        places += [
            f"{fault.get('field', '')}: {fault.get('description', '')}"
            for fault in _objects(each.get("fieldViolations"))
        ]
    new = [place for place in dict.fromkeys(places) if place not in message and place != "Authorization"]
    return f" ({'; '.join(new)})" if new else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdigit():
        return min(float(text[:10]), _LONGEST_PAUSE_SECONDS)
    if not text:
        return None
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return min(max(0.0, (moment - datetime.now(UTC)).total_seconds()), _LONGEST_PAUSE_SECONDS)
    except (ValueError, TypeError, OverflowError):
        return None


class Patience:
    """The rest of the time that one tool call may wait for Google to recover."""

    def __init__(self) -> None:
        self._left_seconds = MAX_WAIT_SECONDS

    async def wait(self, tries: int, retry_after_seconds: float | None) -> bool:
        """Wait before another try.

        Args:
            tries: how often it was tried so far, from 1.
            retry_after_seconds: how long Google asks to wait, if it does; that goes before our own pauses.

        Returns:
            Whether to try again; if not, nothing was waited for.
        """
        if tries >= MAX_TRIES:
            return False
        if retry_after_seconds is not None:
            pause = retry_after_seconds
        else:
            # Full jitter: those who failed at the same moment do not come back at the same moment.
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (tries - 1), MAX_PAUSE_SECONDS)
            pause = random.uniform(0, longest)  # noqa: S311  # no secret
        if pause > self._left_seconds:
            return False
        self._left_seconds -= pause
        await asyncio.sleep(pause)
        return True


async def in_call_time(context: ToolContext, work: Coroutine[Any, Any, Any]) -> Any:
    """Run the work of a tool call for as long as the call may take; what the user is asked meanwhile does not count.

    Args:
        context: of the call.
        work: what the tool does.

    Returns:
        What it returns.

    Raises:
        GoogleError: the time is up; ``unknown_outcome`` if a change was sent.
    """
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            left = context.remaining_seconds() - MARGIN_SECONDS
            if left <= 0:
                break
            await asyncio.wait({task}, timeout=min(left, 1.0))
        if task.done():
            return task.result()
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task}, timeout=_CLEAN_UP_SECONDS)
    raise _out_of_time()


def _out_of_time() -> GoogleError:
    sent = changes_sent()
    if not sent:
        return GoogleError(
            "timeout", "The time of this call was up, and nothing was changed. Try again with less at once."
        )
    return GoogleError(
        "unknown_outcome",
        "The time of this call was up after a change was sent, so it may have been done, in whole or in part. "
        f"{how_to_look(sent[-1])} before trying again.",
    )
