"""OneClaw: a framework for tool-using AI agents whose tools come from plugins and are loaded on demand.

What is named here is public and stable: plugin authors and embedders import from ``oneclaw_core`` and nowhere below.
Names are imported when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names
from oneclaw_core._version import __version__ as __version__

if TYPE_CHECKING:
    from oneclaw_core.agents import AgentService as AgentService
    from oneclaw_core.app import OneClaw as OneClaw
    from oneclaw_core.app import ask as ask
    from oneclaw_core.builtin.clock import get_current_time as get_current_time
    from oneclaw_core.cli.event_loop import run_async as run_async
    from oneclaw_core.cli.line_reader import read_input_line as read_input_line
    from oneclaw_core.cli.output import json_option as json_option
    from oneclaw_core.cli.output import print_json as print_json
    from oneclaw_core.cli.output import print_table as print_table
    from oneclaw_core.cli.output import print_text as print_text
    from oneclaw_core.config.configuration import Configuration as Configuration
    from oneclaw_core.config.home import Home as Home
    from oneclaw_core.config.home import find_home as find_home
    from oneclaw_core.config.known_secrets import known_secret_check as known_secret_check
    from oneclaw_core.config.models.service import ModelState as ModelState
    from oneclaw_core.config.providers import ProviderState as ProviderState
    from oneclaw_core.config.settings.service import SettingState as SettingState
    from oneclaw_core.errors import AgentError as AgentError
    from oneclaw_core.errors import ConstraintError as ConstraintError
    from oneclaw_core.errors import ContextTooLongError as ContextTooLongError
    from oneclaw_core.errors import DuplicateError as DuplicateError
    from oneclaw_core.errors import DuplicateToolError as DuplicateToolError
    from oneclaw_core.errors import InUseError as InUseError
    from oneclaw_core.errors import NotFoundError as NotFoundError
    from oneclaw_core.errors import NotReadyError as NotReadyError
    from oneclaw_core.errors import OAuthError as OAuthError
    from oneclaw_core.errors import OAuthUnavailableError as OAuthUnavailableError
    from oneclaw_core.errors import OneClawError as OneClawError
    from oneclaw_core.errors import PermissionDeniedError as PermissionDeniedError
    from oneclaw_core.errors import PluginError as PluginError
    from oneclaw_core.errors import ProtectedError as ProtectedError
    from oneclaw_core.errors import ProviderAuthenticationError as ProviderAuthenticationError
    from oneclaw_core.errors import ProviderError as ProviderError
    from oneclaw_core.errors import ProviderQuotaError as ProviderQuotaError
    from oneclaw_core.errors import ProviderRateLimitError as ProviderRateLimitError
    from oneclaw_core.errors import ProviderRequestError as ProviderRequestError
    from oneclaw_core.errors import ProviderUnavailableError as ProviderUnavailableError
    from oneclaw_core.errors import SessionBusyError as SessionBusyError
    from oneclaw_core.errors import SettingsError as SettingsError
    from oneclaw_core.errors import SignInNeededError as SignInNeededError
    from oneclaw_core.errors import SpendingLimitError as SpendingLimitError
    from oneclaw_core.errors import StoreDamagedError as StoreDamagedError
    from oneclaw_core.errors import StoreError as StoreError
    from oneclaw_core.errors import StoreVersionError as StoreVersionError
    from oneclaw_core.errors import ToolDefinitionError as ToolDefinitionError
    from oneclaw_core.errors import TurnDeadlineError as TurnDeadlineError
    from oneclaw_core.errors import TurnError as TurnError
    from oneclaw_core.errors import TurnLimitError as TurnLimitError
    from oneclaw_core.errors import TurnRefusedError as TurnRefusedError
    from oneclaw_core.errors import UnknownModelError as UnknownModelError
    from oneclaw_core.errors import UsageError as UsageError
    from oneclaw_core.http.oauth.accounts import OAuthAccount as OAuthAccount
    from oneclaw_core.http.oauth.accounts import OAuthAccounts as OAuthAccounts
    from oneclaw_core.http.oauth.client import OAuthClient as OAuthClient
    from oneclaw_core.http.oauth.consent import OAuthConsent as OAuthConsent
    from oneclaw_core.http.oauth.grant import AccessToken as AccessToken
    from oneclaw_core.http.oauth.grant import OAuthGrant as OAuthGrant
    from oneclaw_core.http.oauth.redirect import RedirectListener as RedirectListener
    from oneclaw_core.http.oauth.service import OAuthService as OAuthService
    from oneclaw_core.plugins.contract.arguments import Ask as Ask
    from oneclaw_core.plugins.contract.arguments import CallInfo as CallInfo
    from oneclaw_core.plugins.contract.arguments import CommandUse as CommandUse
    from oneclaw_core.plugins.contract.arguments import Deny as Deny
    from oneclaw_core.plugins.contract.arguments import ExpandedMessage as ExpandedMessage
    from oneclaw_core.plugins.contract.arguments import MessageCommand as MessageCommand
    from oneclaw_core.plugins.contract.arguments import ModelAnswer as ModelAnswer
    from oneclaw_core.plugins.contract.arguments import ModelCall as ModelCall
    from oneclaw_core.plugins.contract.arguments import ModelWork as ModelWork
    from oneclaw_core.plugins.contract.arguments import PermissionOutcome as PermissionOutcome
    from oneclaw_core.plugins.contract.arguments import PromptSection as PromptSection
    from oneclaw_core.plugins.contract.arguments import SessionInfo as SessionInfo
    from oneclaw_core.plugins.contract.arguments import ToolWork as ToolWork
    from oneclaw_core.plugins.contract.arguments import TurnInfo as TurnInfo
    from oneclaw_core.plugins.contract.arguments import TurnOutcome as TurnOutcome
    from oneclaw_core.plugins.contract.arguments import TurnWork as TurnWork
    from oneclaw_core.plugins.contract.arguments import Work as Work
    from oneclaw_core.plugins.contract.channel import Channel as Channel
    from oneclaw_core.plugins.contract.channel import OutMessage as OutMessage
    from oneclaw_core.plugins.contract.channel import Receipt as Receipt
    from oneclaw_core.plugins.contract.chat_command import ChatCommandContext as ChatCommandContext
    from oneclaw_core.plugins.contract.checks import CheckResult as CheckResult
    from oneclaw_core.plugins.contract.checks import Health as Health
    from oneclaw_core.plugins.contract.context import PluginContext as PluginContext
    from oneclaw_core.plugins.contract.home_services import HomeServices as HomeServices
    from oneclaw_core.plugins.contract.service_context import ServiceContext as ServiceContext
    from oneclaw_core.plugins.contract.tool_source import KnownTool as KnownTool
    from oneclaw_core.plugins.contract.tool_source import ListingContext as ListingContext
    from oneclaw_core.plugins.contract.tool_source import SourceGroup as SourceGroup
    from oneclaw_core.plugins.contract.tool_source import SourceTool as SourceTool
    from oneclaw_core.plugins.contract.tool_source import SourceTools as SourceTools
    from oneclaw_core.plugins.contract.tool_source import ToolSource as ToolSource
    from oneclaw_core.plugins.contract.trigger import Fire as Fire
    from oneclaw_core.plugins.contract.web import WebRequest as WebRequest
    from oneclaw_core.plugins.contract.web import WebResponse as WebResponse
    from oneclaw_core.plugins.hookspecs import CONTRACT_VERSION as CONTRACT_VERSION
    from oneclaw_core.plugins.hookspecs import hookimpl as hookimpl
    from oneclaw_core.plugins.registration.named_registrars import ChannelRegistrar as ChannelRegistrar
    from oneclaw_core.plugins.registration.named_registrars import ChatCommandRegistrar as ChatCommandRegistrar
    from oneclaw_core.plugins.registration.named_registrars import CheckRegistrar as CheckRegistrar
    from oneclaw_core.plugins.registration.named_registrars import CommandRegistrar as CommandRegistrar
    from oneclaw_core.plugins.registration.named_registrars import RouteRegistrar as RouteRegistrar
    from oneclaw_core.plugins.registration.named_registrars import ServiceRegistrar as ServiceRegistrar
    from oneclaw_core.plugins.registration.named_registrars import SettingsRegistrar as SettingsRegistrar
    from oneclaw_core.plugins.registration.named_registrars import StoreRegistrar as StoreRegistrar
    from oneclaw_core.plugins.registration.named_registrars import TriggerRegistrar as TriggerRegistrar
    from oneclaw_core.plugins.registration.record import PluginProblem as PluginProblem
    from oneclaw_core.plugins.registration.registrars import GroupRegistrar as GroupRegistrar
    from oneclaw_core.plugins.registration.registrars import ProviderRegistrar as ProviderRegistrar
    from oneclaw_core.plugins.registration.registrars import SkillRegistrar as SkillRegistrar
    from oneclaw_core.plugins.registration.registrars import ToolRegistrar as ToolRegistrar
    from oneclaw_core.private_files import read_private as read_private
    from oneclaw_core.private_files import write_private as write_private
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
    from oneclaw_core.providers.base import ToolLoading as ToolLoading
    from oneclaw_core.providers.base import WireRequest as WireRequest
    from oneclaw_core.secrets.redaction import SHORTEST_KEY_CHARACTERS as SHORTEST_KEY_CHARACTERS
    from oneclaw_core.secrets.redaction import redact as redact
    from oneclaw_core.secrets.redaction import remember_secret as remember_secret
    from oneclaw_core.secrets.redaction import without_secrets as without_secrets
    from oneclaw_core.secrets.store import SecretPlace as SecretPlace
    from oneclaw_core.secrets.store import SecretStore as SecretStore
    from oneclaw_core.secrets.store import SecretWords as SecretWords
    from oneclaw_core.sessions.plugin_storage import PluginStorage as PluginStorage
    from oneclaw_core.sessions.plugin_tables import PluginTables as PluginTables
    from oneclaw_core.sessions.storage_connection import StorageConnection as StorageConnection
    from oneclaw_core.tools.context import ToolContext as ToolContext
    from oneclaw_core.tools.definition import ToolDefinition as ToolDefinition
    from oneclaw_core.tools.function import FunctionTool as FunctionTool
    from oneclaw_core.tools.function import tool as tool
    from oneclaw_core.tools.groups import ActiveTools as ActiveTools
    from oneclaw_core.tools.groups import ToolGroupDefinition as ToolGroupDefinition
    from oneclaw_core.tools.groups import build_system_prompt_with_tool_groups as build_system_prompt_with_tool_groups
    from oneclaw_core.tools.groups import restore_loaded_groups as restore_loaded_groups
    from oneclaw_core.tools.load_tool_group import LoadToolGroupTool as LoadToolGroupTool
    from oneclaw_core.tools.manifest import ManifestProblem as ManifestProblem
    from oneclaw_core.tools.manifest import parse_group_manifest as parse_group_manifest
    from oneclaw_core.tools.paths import PathGuard as PathGuard
    from oneclaw_core.tools.permissions import PermissionAnswer as PermissionAnswer
    from oneclaw_core.tools.permissions import PermissionRequest as PermissionRequest
    from oneclaw_core.tools.registry import ToolRegistry as ToolRegistry
    from oneclaw_core.tools.registry import ToolSourceInfo as ToolSourceInfo
    from oneclaw_core.tools.registry import ToolSourceType as ToolSourceType
    from oneclaw_core.tools.tool import Tool as Tool
    from oneclaw_core.tools.untrusted import untrusted as untrusted
    from oneclaw_core.turn.estimate import definition_tokens as definition_tokens
    from oneclaw_core.turn.prepare_request import RequestPreview as RequestPreview
    from oneclaw_core.types.agents import Agent as Agent
    from oneclaw_core.types.agents import AgentLimits as AgentLimits
    from oneclaw_core.types.events import CompactedEvent as CompactedEvent
    from oneclaw_core.types.events import GroupLoadedEvent as GroupLoadedEvent
    from oneclaw_core.types.events import ReasoningEvent as ReasoningEvent
    from oneclaw_core.types.events import RetryEvent as RetryEvent
    from oneclaw_core.types.events import TextEvent as TextEvent
    from oneclaw_core.types.events import ToolCallEvent as ToolCallEvent
    from oneclaw_core.types.events import ToolProgressEvent as ToolProgressEvent
    from oneclaw_core.types.events import ToolResultEvent as ToolResultEvent
    from oneclaw_core.types.events import TurnEvent as TurnEvent
    from oneclaw_core.types.events import TurnFinishedEvent as TurnFinishedEvent
    from oneclaw_core.types.events import UsageEvent as UsageEvent
    from oneclaw_core.types.messages import Attachment as Attachment
    from oneclaw_core.types.messages import Message as Message
    from oneclaw_core.types.messages import MessageType as MessageType
    from oneclaw_core.types.messages import StopReason as StopReason
    from oneclaw_core.types.messages import TokenUsage as TokenUsage
    from oneclaw_core.types.messages import ToolCall as ToolCall
    from oneclaw_core.types.messages import ToolCallStatus as ToolCallStatus
    from oneclaw_core.types.text import INVISIBLE_CHARACTERS as INVISIBLE_CHARACTERS
    from oneclaw_core.types.text import clean_text as clean_text
    from oneclaw_core.types.tools import ToolResult as ToolResult
    from oneclaw_core.types.tools import ToolResultStatus as ToolResultStatus
    from oneclaw_core.types.tools import ToolSelection as ToolSelection

_NAMES = {
    # Tools
    "plugins.contract.home_services": "HomeServices",
    "tools.context": "ToolContext",
    "tools.definition": "ToolDefinition",
    "tools.function": "FunctionTool tool",
    "tools.groups": "ActiveTools ToolGroupDefinition build_system_prompt_with_tool_groups restore_loaded_groups",
    "tools.load_tool_group": "LoadToolGroupTool",
    "tools.manifest": "ManifestProblem parse_group_manifest",
    "tools.paths": "PathGuard",
    "tools.permissions": "PermissionAnswer PermissionRequest",
    "tools.registry": "ToolRegistry ToolSourceInfo ToolSourceType",
    "tools.tool": "Tool",
    "tools.untrusted": "untrusted",
    "types.text": "INVISIBLE_CHARACTERS clean_text",
    "types.tools": "ToolResult ToolResultStatus ToolSelection",
    # Plugins: hooks, what they get and return, and the libraries that plugins share
    "config.known_secrets": "known_secret_check",
    "http.oauth.accounts": "OAuthAccount OAuthAccounts",
    "http.oauth.client": "OAuthClient",
    "http.oauth.consent": "OAuthConsent",
    "http.oauth.grant": "AccessToken OAuthGrant",
    "http.oauth.redirect": "RedirectListener",
    "http.oauth.service": "OAuthService",
    "plugins.contract.arguments": (
        "Ask CallInfo CommandUse Deny ExpandedMessage MessageCommand ModelAnswer ModelCall ModelWork "
        "PermissionOutcome PromptSection SessionInfo ToolWork TurnInfo TurnOutcome TurnWork Work"
    ),
    "plugins.contract.channel": "Channel OutMessage Receipt",
    "plugins.contract.chat_command": "ChatCommandContext",
    "plugins.contract.checks": "CheckResult Health",
    "plugins.contract.context": "PluginContext",
    "plugins.contract.service_context": "ServiceContext",
    "plugins.contract.tool_source": "KnownTool ListingContext SourceGroup SourceTool SourceTools ToolSource",
    "plugins.contract.trigger": "Fire",
    "plugins.contract.web": "WebRequest WebResponse",
    "plugins.hookspecs": "CONTRACT_VERSION hookimpl",
    "plugins.registration.named_registrars": (
        "ChannelRegistrar ChatCommandRegistrar CheckRegistrar CommandRegistrar RouteRegistrar ServiceRegistrar "
        "SettingsRegistrar StoreRegistrar TriggerRegistrar"
    ),
    "plugins.registration.record": "PluginProblem",
    "plugins.registration.registrars": "GroupRegistrar ProviderRegistrar SkillRegistrar ToolRegistrar",
    "private_files": "read_private write_private",
    "secrets.redaction": "SHORTEST_KEY_CHARACTERS redact remember_secret without_secrets",
    "secrets.store": "SecretPlace SecretStore SecretWords",
    "sessions.plugin_storage": "PluginStorage",
    "sessions.plugin_tables": "PluginTables",
    "sessions.storage_connection": "StorageConnection",
    # Providers
    "providers.base": (
        "ModelEvent ModelInfo ModelRequest ModelResponse Provider ProviderConfig RetryNotice TextDelta "
        "LoadingRefused ReasoningDelta ToolLoading WireRequest"
    ),
    # Commands of the command line
    "cli.event_loop": "run_async",
    "cli.line_reader": "read_input_line",
    "cli.output": "json_option print_json print_table print_text",
    # Programs that embed OneClaw
    "agents": "AgentService",
    "app": "OneClaw ask",
    "builtin.clock": "get_current_time",
    "config.configuration": "Configuration",
    "config.home": "Home find_home",
    "config.models.service": "ModelState",
    "config.providers": "ProviderState",
    "config.settings.service": "SettingState",
    "turn.prepare_request": "RequestPreview",
    "types.agents": "Agent AgentLimits",
    "types.events": (
        "CompactedEvent GroupLoadedEvent ReasoningEvent RetryEvent TextEvent ToolCallEvent ToolProgressEvent "
        "ToolResultEvent TurnEvent TurnFinishedEvent UsageEvent"
    ),
    "types.messages": "Attachment Message MessageType StopReason TokenUsage ToolCall ToolCallStatus",
    # Development tools
    "turn.estimate": "definition_tokens",
    # Errors, for all of them
    "errors": (
        "AgentError ConstraintError ContextTooLongError DuplicateError DuplicateToolError InUseError NotFoundError "
        "NotReadyError OAuthError OAuthUnavailableError OneClawError PermissionDeniedError PluginError "
        "ProtectedError ProviderAuthenticationError ProviderError ProviderQuotaError ProviderRateLimitError "
        "ProviderRequestError ProviderUnavailableError SessionBusyError SettingsError SignInNeededError "
        "SpendingLimitError StoreDamagedError StoreError StoreVersionError ToolDefinitionError TurnDeadlineError "
        "TurnError TurnLimitError TurnRefusedError UnknownModelError UsageError"
    ),
}

__getattr__, __dir__, _names = lazy_names(__name__, _NAMES)
__all__ = [*_names, "__version__"]  # names, every one
