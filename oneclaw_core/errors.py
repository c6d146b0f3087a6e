"""Every error OneClaw raises on purpose.

::

    OneClawError                    the message is one line and says what to do
    ├── UsageError                  the caller asked for something that cannot be (exit status 2)
    │   ├── ToolDefinitionError     a tool's name, schema or timeout is not acceptable
    │   ├── DuplicateToolError      the name is taken; the first registration stays
    │   ├── SettingsError           a setting is unknown or its value does not fit
    │   │   └── PortError               a server cannot listen at the port (exit status 1)
    │   ├── AgentError              an agent's name, prompt, limit or choice of tools is not acceptable
    │   ├── DuplicateError          there is one of that name already
    │   ├── ProtectedError          it came with OneClaw: it cannot be changed or removed
    │   ├── InUseError              something else needs it: change that first
    │   └── NotFoundError           no such session, agent, tool, provider or model
    ├── PermissionDeniedError       the user did not grant what a tool needs
    ├── NobodyToAskError            a question for the user, where no person can be asked
    ├── PluginError                 a plugin could not be loaded or broke in a hook
    │   └── NotReadyError           a plugin cannot start yet; it is started again later
    ├── StoreError                  the database cannot be used
    │   ├── StoreUnavailableError   locked, full or not reachable for now
    │   ├── StoreVersionError       written by a newer OneClaw
    │   ├── StoreDamagedError       not a database, or a damaged one
    │   ├── ConstraintError         a constraint of a table refuses a row
    │   └── SessionBusyError        another process is in the middle of a turn
    ├── SandboxError                a sandbox cannot be set up here
    ├── OAuthError                  a service that users sign in to gives no access
    │   ├── SignInNeededError       no user is signed in, or the sign-in has ended: the message names the command
    │   └── OAuthUnavailableError   unreachable, overloaded or broken; worth another try
    ├── ProviderError               the model service could not answer
    │   ├── UnfinishedAnswerError       the answer ended without its end
    │   ├── ProviderUnavailableError    unreachable, overloaded or broken; worth another try
    │   │   ├── ProviderUnreachableError    no connection, or none that lasted until the answer
    │   │   ├── ProviderSilentError         not a byte in time
    │   │   └── UnreadableCallError         the model wrote a tool call that cannot be read
    │   ├── ProviderRateLimitError      too many requests for now
    │   ├── ProviderAuthenticationError the key is missing or refused
    │   ├── ProviderQuotaError          the account has no credit left
    │   └── ProviderRequestError        the request itself was refused
    │       ├── UnknownModelError           the service has no model of that name
    │       └── ContextTooLongError         the conversation does not fit the model
    └── TurnError                   the turn stopped before the model's final answer
        ├── OutputError             the model gave no output of the form that was asked for
    ├── TurnLimitError          too many rounds of tool calls, or no progress
        ├── TurnDeadlineError       it took too long as a whole
        ├── TurnStoppedError        the user stopped it with `oneclaw sessions stop`
        ├── TurnRefusedError        a plugin refused it before the model was asked
        └── SpendingLimitError      a limit in tokens or money is reached
"""

from __future__ import annotations

import shlex
from typing import TypeVar

_Error = TypeVar("_Error", bound=Exception)


class OneClawError(Exception):
    """The root of all errors that OneClaw raises on purpose."""

    exit_status = 1


class UsageError(OneClawError):
    """The caller asked for something that cannot be."""

    exit_status = 2


class ToolDefinitionError(UsageError, ValueError):
    """A tool's definition is not acceptable.

    Attributes:
        pointer: JSON Pointer (RFC 6901) to the faulty place within the definition, ``""`` for all of it.
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(message)
        self.pointer = pointer


class DuplicateToolError(UsageError, ValueError):
    """A tool of that name is registered already; the first registration stays."""


class SettingsError(UsageError, ValueError):
    """A setting is unknown, or its value does not fit."""


class PortError(SettingsError):
    """A server cannot listen at the chosen port, such as because another program does."""

    exit_status = 1


class AgentError(UsageError, ValueError):
    """An agent's name, prompt, parameter, limit or choice of tools is not acceptable."""


class DuplicateError(UsageError, ValueError):
    """There is one of that name already."""


class ProtectedError(UsageError):
    """It came with OneClaw: it cannot be changed or removed."""


class InUseError(UsageError):
    """Something else needs it: change that first."""


class NotFoundError(UsageError, LookupError):
    """There is no session, agent, tool, provider or model of that name."""


class PermissionDeniedError(OneClawError):
    """The error for a permission that was not granted.

    Attributes:
        permission: the name of the permission, such as ``network.private``.
        decided_by: ``denial`` (remembered), ``user``, or ``default`` where no person could be asked.
    """

    def __init__(self, message: str, permission: str, decided_by: str = "denial") -> None:
        super().__init__(message)
        self.permission = permission
        self.decided_by = decided_by


def denied_for_good(name: str) -> PermissionDeniedError:
    """Make the error that says how a lasting denial is changed.

    Args:
        name: of what is denied: ``PERMISSION``, or ``PERMISSION:PATTERN``.
    """
    permission, colon, _ = name.partition(":")
    what = f"'{name}'" if colon else f"Permission '{name}'"
    return PermissionDeniedError(
        f"{what} is set to never. The user can change that with: oneclaw permissions reset {shlex.quote(name)}",
        permission,
    )


class NobodyToAskError(OneClawError):
    """A tool has a question for the user, and no person can be asked here."""


class PluginError(OneClawError):
    """A plugin could not be loaded, or broke in one of its hooks."""


class NotReadyError(PluginError):
    """A plugin raises it in ``plugin_started`` if it cannot start yet; it is started again at a later need."""


class StoreError(OneClawError):
    """The database cannot be used."""


class StoreUnavailableError(StoreError):
    """The database cannot be used for now: it is locked, has no space left, or does not answer. Nothing was stored."""


class StoreVersionError(StoreError):
    """The database was written by a newer OneClaw."""


class StoreDamagedError(StoreError):
    """The file is not a database, or a damaged one."""


class ConstraintError(StoreError):
    """A constraint of a table refuses a row, such as a unique column or a reference.

    Attributes:
        lacks_parent: True if the row refers to one that is not there.
    """

    def __init__(self, message: str, *, lacks_parent: bool = False) -> None:
        super().__init__(message)
        self.lacks_parent = lacks_parent


class SessionBusyError(StoreError):
    """Another turn of the same session is under way."""


class SandboxError(OneClawError):
    """A sandbox of the operating system cannot be set up here, so what was to run in it has not run."""


class OAuthError(OneClawError):
    """A service that users sign in to gives no access. A tool that raises this fails with its ``error_type``.

    Attributes:
        error_type: of the tool's result.
        code: the service's error code (RFC 6749, section 5.2), ``""`` if it gave none.
        status: of the HTTP response, ``None`` if there was none.
        description: the code and the service's explanation on one line, for messages.
    """

    error_type = "not_available"

    def __init__(self, message: str, *, code: str = "", status: int | None = None, description: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.description = description


class SignInNeededError(OAuthError):
    """The user has to sign in, or to sign in again; the message names the command."""


class OAuthUnavailableError(OAuthError):
    """The service is unreachable, overloaded or broken; another try may succeed."""

    error_type = "service_unavailable"


class ProviderError(OneClawError):
    """The model service could not answer.

    Attributes:
        retry_after_seconds: when the service asks to be asked again; ``None`` if it did not say.
        refused_parts: the parts without which the request can be sent again, as
            :mod:`oneclaw_core.models.left_out` names them.
        is_final: True if nothing is asked in its place, such as after a part of the answer was shown.
    """

    retry_after_seconds: float | None = None
    refused_parts: tuple[str, ...] = ()
    is_final: bool = False


class UnfinishedAnswerError(ProviderError):
    """The service ended its answer without saying so."""


class ProviderUnavailableError(ProviderError):
    """The service is unreachable, overloaded or broke off; another try may succeed."""


class ProviderUnreachableError(ProviderUnavailableError):
    """The connection failed before anything of an answer came."""


class ProviderSilentError(ProviderUnavailableError):
    """The service sent nothing for as long as it may be silent."""


class UnreadableCallError(ProviderUnavailableError):
    """The model wrote a tool call that cannot be read; the turn asks it again.

    Attributes:
        written: the call as the model wrote it; empty if the service does not say.
    """

    written: str = ""


class ProviderRateLimitError(ProviderError):
    """The service refuses more requests for now."""


class ProviderAuthenticationError(ProviderError):
    """The service wants a key, or refuses the one it got."""


class ProviderQuotaError(ProviderError):
    """The account at the service has no credit left, or a spending limit is reached."""


class ProviderRequestError(ProviderError):
    """The service refuses the request as it is, or answered something that is no answer.

    Attributes:
        is_refusal: True if the service refuses this request, and may take another one.
        refuses_content: True if the service objects to what a message says.
    """

    is_refusal: bool = False
    refuses_content: bool = False


class UnknownModelError(ProviderRequestError):
    """The service has no model of that name."""


class ContextTooLongError(ProviderRequestError):
    """The conversation does not fit what the model reads.

    Attributes:
        allowed_tokens: the longest request that the service takes; ``None`` if it did not say.
        requested_tokens: the length of the request as the service counted it; ``None`` if it did not say.
    """

    allowed_tokens: int | None = None
    requested_tokens: int | None = None


class TurnError(OneClawError):
    """The turn stopped before the model's final answer; the session is intact."""


class OutputError(TurnError):
    """The model gave no output of the form that was asked for, however often it was told what is wrong.

    Attributes:
        text: what it gave last.
        faults: what is wrong with it, each with its JSON Pointer.
    """

    text: str = ""
    faults: tuple[str, ...] = ()


class TurnLimitError(TurnError):
    """The turn reached its limit of tool-call rounds, or made no progress."""


class TurnDeadlineError(TurnError):
    """The turn reached its deadline."""


class TurnStoppedError(TurnError):
    """The user stopped the turn from another process."""


class TurnRefusedError(TurnError):
    """A plugin refused the turn before the model was asked; the message says which one and why."""


class SpendingLimitError(TurnError):
    """A limit in tokens or money, of the turn or of the day, is reached."""


def reworded(error: _Error, message: str) -> _Error:
    """Return an error of the same kind with another message."""
    made = type(error)(message)
    made.__dict__.update({name: value for name, value in error.__dict__.items() if not name.startswith("__")})
    return made


def errors_within(error: BaseException) -> list[BaseException]:
    """Return the errors inside a group of errors, of inner groups too; of any other error, itself.

    Args:
        error: raised by any code, such as the group that an ``asyncio.TaskGroup`` raises.
    """
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [found for each in error.exceptions for found in errors_within(each)]


def describe_error(error: BaseException, *, limit: int = 500) -> str:
    """Return an exception's type and message on one line; foreign ones may fail to say either.

    Of a group of exceptions, it describes each one inside.

    Args:
        error: raised by any code.
        limit: the most characters.
    """
    if isinstance(error, BaseExceptionGroup):
        described = dict.fromkeys(describe_error(each, limit=limit) for each in errors_within(error))
        return "; ".join(described)[:limit]
    name = type.__dict__["__name__"].__get__(type(error))
    try:
        text = str.__str__(str(error))
    except BaseException:  # noqa: BLE001  # the __str__ of an exception is foreign code
        text = "(its message cannot be shown)"
    text = " ".join(text.split())
    return f"{name}: {text}"[:limit] if text else str(name)


def service_reason(error: Exception, most_characters: int | None = None) -> str:
    """Return what the service said of a refusal, without our own words before it."""
    return str(error).rpartition("it says: ")[2][:most_characters]
