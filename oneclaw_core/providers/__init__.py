"""Public names for authors of providers, beside those of ``oneclaw_core``: HTTP requests, events, errors, retries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.errors import ContextTooLongError as ContextTooLongError
    from oneclaw_core.errors import ProviderAuthenticationError as ProviderAuthenticationError
    from oneclaw_core.errors import ProviderQuotaError as ProviderQuotaError
    from oneclaw_core.errors import ProviderRateLimitError as ProviderRateLimitError
    from oneclaw_core.errors import ProviderRequestError as ProviderRequestError
    from oneclaw_core.errors import ProviderSilentError as ProviderSilentError
    from oneclaw_core.errors import ProviderUnavailableError as ProviderUnavailableError
    from oneclaw_core.errors import ProviderUnreachableError as ProviderUnreachableError
    from oneclaw_core.errors import UnknownModelError as UnknownModelError
    from oneclaw_core.errors import UnreadableCallError as UnreadableCallError
    from oneclaw_core.providers.answer import END_OF_STREAM as END_OF_STREAM
    from oneclaw_core.providers.answer import AnswerCutError as AnswerCutError
    from oneclaw_core.providers.answer import AnswerFailedError as AnswerFailedError
    from oneclaw_core.providers.answer import AnswerGarbledError as AnswerGarbledError
    from oneclaw_core.providers.base import ArgumentsDelta as ArgumentsDelta
    from oneclaw_core.providers.base import LoadingRefused as LoadingRefused
    from oneclaw_core.providers.base import ModelEvent as ModelEvent
    from oneclaw_core.providers.base import ModelInfo as ModelInfo
    from oneclaw_core.providers.base import ModelRequest as ModelRequest
    from oneclaw_core.providers.base import ModelResponse as ModelResponse
    from oneclaw_core.providers.base import Provider as Provider
    from oneclaw_core.providers.base import ProviderConfig as ProviderConfig
    from oneclaw_core.providers.base import ReasoningDelta as ReasoningDelta
    from oneclaw_core.providers.base import RetryNotice as RetryNotice
    from oneclaw_core.providers.base import TextDelta as TextDelta
    from oneclaw_core.providers.base import TextWithdrawn as TextWithdrawn
    from oneclaw_core.providers.base import ToolLoading as ToolLoading
    from oneclaw_core.providers.base import UsageSoFar as UsageSoFar
    from oneclaw_core.providers.base import WireRequest as WireRequest
    from oneclaw_core.providers.history import AnsweredCall as AnsweredCall
    from oneclaw_core.providers.history import Exchange as Exchange
    from oneclaw_core.providers.history import exchanges as exchanges
    from oneclaw_core.providers.history import loading_calls as loading_calls
    from oneclaw_core.providers.history import valid_name as valid_name
    from oneclaw_core.providers.history import without_listed_tools as without_listed_tools
    from oneclaw_core.providers.http_provider import HttpProvider as HttpProvider
    from oneclaw_core.providers.images import ImageLimits as ImageLimits
    from oneclaw_core.providers.retry import AttemptFailed as AttemptFailed
    from oneclaw_core.providers.route import FailureKind as FailureKind
    from oneclaw_core.providers.route import Route as Route
    from oneclaw_core.providers.service_errors import ServerMessage as ServerMessage
    from oneclaw_core.providers.service_errors import ServiceErrors as ServiceErrors
    from oneclaw_core.providers.wire import ToolLists as ToolLists
    from oneclaw_core.providers.wire import ToolTexts as ToolTexts
    from oneclaw_core.providers.wire import are_complete_arguments as are_complete_arguments
    from oneclaw_core.providers.wire import compact_json as compact_json
    from oneclaw_core.providers.wire import count_member as count_member
    from oneclaw_core.providers.wire import member as member
    from oneclaw_core.providers.wire import objects_in as objects_in
    from oneclaw_core.providers.wire import parse_object as parse_object
    from oneclaw_core.providers.wire import shown_word as shown_word
    from oneclaw_core.providers.wire import text_member as text_member
    from oneclaw_core.providers.wire import unique_call_id as unique_call_id
    from oneclaw_core.types.messages import StopReason as StopReason

__getattr__, __dir__, __all__ = lazy_names(__name__)
