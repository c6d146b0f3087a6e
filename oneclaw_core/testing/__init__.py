"""Testing plugins with pytest: names for annotations, and assertions that say what happened instead.

The fixtures are there wherever ``oneclaw-core`` is installed (:mod:`oneclaw_core.testing.plugin`); nothing has to be
imported to use them. What is named here is public and stable. Names are imported when first used: pytest loads this
package in every project that has ``oneclaw-core`` installed, also where it is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.testing.assertions import CalledTool as CalledTool
    from oneclaw_core.testing.assertions import TurnRecord as TurnRecord
    from oneclaw_core.testing.assertions import assert_group_loaded as assert_group_loaded
    from oneclaw_core.testing.assertions import assert_group_not_loaded as assert_group_not_loaded
    from oneclaw_core.testing.assertions import assert_permission_asked as assert_permission_asked
    from oneclaw_core.testing.assertions import assert_tool_called as assert_tool_called
    from oneclaw_core.testing.assertions import assert_tool_error as assert_tool_error
    from oneclaw_core.testing.assertions import assert_tool_not_called as assert_tool_not_called
    from oneclaw_core.testing.assertions import assert_tool_not_offered as assert_tool_not_offered
    from oneclaw_core.testing.assertions import assert_tool_offered as assert_tool_offered
    from oneclaw_core.testing.assertions import assert_tool_succeeded as assert_tool_succeeded
    from oneclaw_core.testing.authorization_server import AuthorizationServer as AuthorizationServer
    from oneclaw_core.testing.function_model import FunctionModel as FunctionModel
    from oneclaw_core.testing.home_under_test import CallTool as CallTool
    from oneclaw_core.testing.home_under_test import HomeFactory as HomeFactory
    from oneclaw_core.testing.home_under_test import HomeUnderTest as HomeUnderTest
    from oneclaw_core.testing.hook_events import made_call as made_call
    from oneclaw_core.testing.hook_events import made_outcome as made_outcome
    from oneclaw_core.testing.hook_events import made_session as made_session
    from oneclaw_core.testing.hook_events import made_turn as made_turn
    from oneclaw_core.testing.running_call import running_call as running_call
    from oneclaw_core.testing.scripted import ScriptedModel as ScriptedModel
    from oneclaw_core.testing.scripted import ScriptedUser as ScriptedUser
    from oneclaw_core.testing.snapshot import DefinitionsSnapshot as DefinitionsSnapshot
    from oneclaw_core.testing.web_server import ReceivedRequest as ReceivedRequest
    from oneclaw_core.testing.web_server import RoutedWebServer as RoutedWebServer
    from oneclaw_core.testing.web_server import WebAnswer as WebAnswer
    from oneclaw_core.testing.web_server import WebServer as WebServer

__getattr__, __dir__, __all__ = lazy_names(__name__)
