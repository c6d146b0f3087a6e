"""A kit for authors of providers over HTTP: requests, answers, errors, retries and what wire formats share."""

from oneclaw_http_providers.answer import END_OF_STREAM as END_OF_STREAM
from oneclaw_http_providers.answer import Answer as Answer
from oneclaw_http_providers.answer import AnswerCutError as AnswerCutError
from oneclaw_http_providers.answer import AnswerFailedError as AnswerFailedError
from oneclaw_http_providers.answer import AnswerGarbledError as AnswerGarbledError
from oneclaw_http_providers.answer_source import AnswerSource as AnswerSource
from oneclaw_http_providers.history import AnsweredCall as AnsweredCall
from oneclaw_http_providers.history import Exchange as Exchange
from oneclaw_http_providers.history import exchanges as exchanges
from oneclaw_http_providers.history import valid_name as valid_name
from oneclaw_http_providers.history import without_listed_tools as without_listed_tools
from oneclaw_http_providers.images import ImageLimits as ImageLimits
from oneclaw_http_providers.provider import HttpProvider as HttpProvider
from oneclaw_http_providers.retry import AttemptFailed as AttemptFailed
from oneclaw_http_providers.service_errors import ServerMessage as ServerMessage
from oneclaw_http_providers.service_errors import ServiceErrors as ServiceErrors
from oneclaw_http_providers.wire import ToolLists as ToolLists
from oneclaw_http_providers.wire import ToolTexts as ToolTexts
from oneclaw_http_providers.wire import are_complete_arguments as are_complete_arguments
from oneclaw_http_providers.wire import count_member as count_member
from oneclaw_http_providers.wire import member as member
from oneclaw_http_providers.wire import objects_in as objects_in
from oneclaw_http_providers.wire import parse_object as parse_object
from oneclaw_http_providers.wire import shown_word as shown_word
from oneclaw_http_providers.wire import text_member as text_member
from oneclaw_http_providers.wire import unique_call_id as unique_call_id
