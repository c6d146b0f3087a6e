"""OneClaw: a framework for tool-using AI agents whose tools come from plugins and are loaded on demand.

What is named here and in the public packages is public and stable: ``oneclaw_core.cli``, ``config``, ``files``,
``http``, ``http_providers``, ``permissions``, ``plugins``, ``process``, ``project``, ``providers``, ``search``,
``sessions``, ``testing``, ``tool_functions`` and ``tools`` have what special tasks need. Names are imported on first
use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from oneclaw_core._lazy import TYPE_CHECKING, lazy_names
from oneclaw_core.system.version import __version__ as __version__

if TYPE_CHECKING:
    from oneclaw_core.agents.service import AgentService as AgentService
    from oneclaw_core.app import OneClaw as OneClaw
    from oneclaw_core.builtin.clock import get_current_time as get_current_time
    from oneclaw_core.channels.command_context import ChatCommandContext as ChatCommandContext
    from oneclaw_core.channels.sync_ask import ask as ask
    from oneclaw_core.config.configuration import Configuration as Configuration
    from oneclaw_core.config.model_service import ModelState as ModelState
    from oneclaw_core.config.providers import ProviderState as ProviderState
    from oneclaw_core.config.settings import SettingState as SettingState
    from oneclaw_core.contract.arguments import Ask as Ask
    from oneclaw_core.contract.arguments import CallInfo as CallInfo
    from oneclaw_core.contract.arguments import CommandUse as CommandUse
    from oneclaw_core.contract.arguments import Deny as Deny
    from oneclaw_core.contract.arguments import ExpandedMessage as ExpandedMessage
    from oneclaw_core.contract.arguments import MessageCommand as MessageCommand
    from oneclaw_core.contract.arguments import ModelAnswer as ModelAnswer
    from oneclaw_core.contract.arguments import ModelCall as ModelCall
    from oneclaw_core.contract.arguments import ModelWork as ModelWork
    from oneclaw_core.contract.arguments import PermissionOutcome as PermissionOutcome
    from oneclaw_core.contract.arguments import PromptSection as PromptSection
    from oneclaw_core.contract.arguments import SessionInfo as SessionInfo
    from oneclaw_core.contract.arguments import ToolWork as ToolWork
    from oneclaw_core.contract.arguments import TurnInfo as TurnInfo
    from oneclaw_core.contract.arguments import TurnOutcome as TurnOutcome
    from oneclaw_core.contract.arguments import TurnWork as TurnWork
    from oneclaw_core.contract.arguments import Work as Work
    from oneclaw_core.contract.checks import CheckResult as CheckResult
    from oneclaw_core.contract.checks import Health as Health
    from oneclaw_core.contract.contact_points import ChatAnswer as ChatAnswer
    from oneclaw_core.contract.context import PluginContext as PluginContext
    from oneclaw_core.contract.marking import hookimpl as hookimpl
    from oneclaw_core.contract.tool_source import SourceTool as SourceTool
    from oneclaw_core.contract.tool_source import SourceTools as SourceTools
    from oneclaw_core.contract.tool_source import ToolSource as ToolSource
    from oneclaw_core.errors import AgentError as AgentError
    from oneclaw_core.errors import DuplicateError as DuplicateError
    from oneclaw_core.errors import InUseError as InUseError
    from oneclaw_core.errors import NobodyToAskError as NobodyToAskError
    from oneclaw_core.errors import NotFoundError as NotFoundError
    from oneclaw_core.errors import NotReadyError as NotReadyError
    from oneclaw_core.errors import OneClawError as OneClawError
    from oneclaw_core.errors import OutputError as OutputError
    from oneclaw_core.errors import PermissionDeniedError as PermissionDeniedError
    from oneclaw_core.errors import PluginError as PluginError
    from oneclaw_core.errors import ProtectedError as ProtectedError
    from oneclaw_core.errors import ProviderError as ProviderError
    from oneclaw_core.errors import SessionBusyError as SessionBusyError
    from oneclaw_core.errors import SettingsError as SettingsError
    from oneclaw_core.errors import SpendingLimitError as SpendingLimitError
    from oneclaw_core.errors import StoreError as StoreError
    from oneclaw_core.errors import TurnDeadlineError as TurnDeadlineError
    from oneclaw_core.errors import TurnError as TurnError
    from oneclaw_core.errors import TurnLimitError as TurnLimitError
    from oneclaw_core.errors import TurnRefusedError as TurnRefusedError
    from oneclaw_core.errors import TurnStoppedError as TurnStoppedError
    from oneclaw_core.errors import UsageError as UsageError
    from oneclaw_core.files.text_content import untrusted as untrusted
    from oneclaw_core.manifests.manifest import parse_group_manifest as parse_group_manifest
    from oneclaw_core.permissions.requests import PermissionAnswer as PermissionAnswer
    from oneclaw_core.permissions.requests import PermissionRequest as PermissionRequest
    from oneclaw_core.plugins.registrars import ChatCommandRegistrar as ChatCommandRegistrar
    from oneclaw_core.plugins.registrars import CheckRegistrar as CheckRegistrar
    from oneclaw_core.plugins.registrars import CommandRegistrar as CommandRegistrar
    from oneclaw_core.plugins.registrars import GroupRegistrar as GroupRegistrar
    from oneclaw_core.plugins.registrars import ProviderRegistrar as ProviderRegistrar
    from oneclaw_core.plugins.registrars import ServiceRegistrar as ServiceRegistrar
    from oneclaw_core.plugins.registrars import SettingsRegistrar as SettingsRegistrar
    from oneclaw_core.plugins.registrars import SkillRegistrar as SkillRegistrar
    from oneclaw_core.plugins.registrars import ToolRegistrar as ToolRegistrar
    from oneclaw_core.previews.preview import RequestPreview as RequestPreview
    from oneclaw_core.secrets.redaction import redact as redact
    from oneclaw_core.secrets.redaction import remember_secret as remember_secret
    from oneclaw_core.services.context import ServiceContext as ServiceContext
    from oneclaw_core.system.home import Home as Home
    from oneclaw_core.system.home import find_home as find_home
    from oneclaw_core.tool_functions.function import tool as tool
    from oneclaw_core.tools.calls.call import ToolClient as ToolClient
    from oneclaw_core.tools.context import ToolContext as ToolContext
    from oneclaw_core.tools.group_tools import LoadToolGroupTool as LoadToolGroupTool
    from oneclaw_core.tools.registry import ToolRegistry as ToolRegistry
    from oneclaw_core.tools.registry import build_system_prompt_with_tool_groups as build_system_prompt_with_tool_groups
    from oneclaw_core.types.agents import Agent as Agent
    from oneclaw_core.types.agents import AgentLimits as AgentLimits
    from oneclaw_core.types.events import CompactedEvent as CompactedEvent
    from oneclaw_core.types.events import GroupLoadedEvent as GroupLoadedEvent
    from oneclaw_core.types.events import ModelSwitchedEvent as ModelSwitchedEvent
    from oneclaw_core.types.events import NoticeEvent as NoticeEvent
    from oneclaw_core.types.events import OutputEvent as OutputEvent
    from oneclaw_core.types.events import ReasoningEvent as ReasoningEvent
    from oneclaw_core.types.events import RetryEvent as RetryEvent
    from oneclaw_core.types.events import SteeredEvent as SteeredEvent
    from oneclaw_core.types.events import TextEvent as TextEvent
    from oneclaw_core.types.events import TextWithdrawnEvent as TextWithdrawnEvent
    from oneclaw_core.types.events import ToolCallEvent as ToolCallEvent
    from oneclaw_core.types.events import ToolProgressEvent as ToolProgressEvent
    from oneclaw_core.types.events import ToolResultEvent as ToolResultEvent
    from oneclaw_core.types.events import TurnEvent as TurnEvent
    from oneclaw_core.types.events import TurnFinishedEvent as TurnFinishedEvent
    from oneclaw_core.types.events import UsageEvent as UsageEvent
    from oneclaw_core.types.messages import Attachment as Attachment
    from oneclaw_core.types.messages import Message as Message
    from oneclaw_core.types.messages import MessageType as MessageType
    from oneclaw_core.types.messages import TokenUsage as TokenUsage
    from oneclaw_core.types.messages import ToolCall as ToolCall
    from oneclaw_core.types.messages import ToolCallStatus as ToolCallStatus
    from oneclaw_core.types.model_requests import Output as Output
    from oneclaw_core.types.tool_groups import ToolGroupDefinition as ToolGroupDefinition
    from oneclaw_core.types.tool_groups import restore_loaded_groups as restore_loaded_groups
    from oneclaw_core.types.tools import Tool as Tool
    from oneclaw_core.types.tools import ToolDefinition as ToolDefinition
    from oneclaw_core.types.tools import ToolResult as ToolResult
    from oneclaw_core.types.tools import ToolResultStatus as ToolResultStatus
    from oneclaw_core.types.tools import ToolSelection as ToolSelection
    from oneclaw_core.types.tools import ToolSourceInfo as ToolSourceInfo
    from oneclaw_core.types.tools import ToolSourceType as ToolSourceType
    from oneclaw_core.types.user_question import UserQuestion as UserQuestion

__getattr__, __dir__, _names = lazy_names(__name__)
__all__ = [*_names, "__version__"]  # names, every one
