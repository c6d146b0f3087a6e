"""Testing OneClaw plugins with pytest: names for annotations, and assertions that say what happened instead.

The fixtures are there wherever ``pytest-oneclaw`` is installed (:mod:`pytest_oneclaw.plugin`); nothing has to be
imported to use them. What is named here is public and stable. Names are imported when first used: pytest loads this
package in every project that has ``pytest-oneclaw`` installed, also where it is not used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneclaw_core._lazy import lazy_names

if TYPE_CHECKING:
    from oneclaw_core.testing.scripted import FunctionModel as FunctionModel
    from oneclaw_core.testing.scripted import ScriptedModel as ScriptedModel
    from oneclaw_core.testing.scripted import ScriptedUser as ScriptedUser
    from pytest_oneclaw.assertions import CalledTool as CalledTool
    from pytest_oneclaw.assertions import TurnRecord as TurnRecord
    from pytest_oneclaw.assertions import assert_group_loaded as assert_group_loaded
    from pytest_oneclaw.assertions import assert_group_not_loaded as assert_group_not_loaded
    from pytest_oneclaw.assertions import assert_permission_asked as assert_permission_asked
    from pytest_oneclaw.assertions import assert_tool_called as assert_tool_called
    from pytest_oneclaw.assertions import assert_tool_error as assert_tool_error
    from pytest_oneclaw.assertions import assert_tool_not_called as assert_tool_not_called
    from pytest_oneclaw.assertions import assert_tool_not_offered as assert_tool_not_offered
    from pytest_oneclaw.assertions import assert_tool_offered as assert_tool_offered
    from pytest_oneclaw.assertions import assert_tool_succeeded as assert_tool_succeeded
    from pytest_oneclaw.authorization_server import AuthorizationServer as AuthorizationServer
    from pytest_oneclaw.home_under_test import CallTool as CallTool
    from pytest_oneclaw.home_under_test import HomeFactory as HomeFactory
    from pytest_oneclaw.home_under_test import HomeUnderTest as HomeUnderTest
    from pytest_oneclaw.hook_events import made_call as made_call
    from pytest_oneclaw.hook_events import made_outcome as made_outcome
    from pytest_oneclaw.hook_events import made_session as made_session
    from pytest_oneclaw.hook_events import made_turn as made_turn
    from pytest_oneclaw.running_call import running_call as running_call
    from pytest_oneclaw.snapshot import DefinitionsSnapshot as DefinitionsSnapshot
    from pytest_oneclaw.web_server import ReceivedRequest as ReceivedRequest
    from pytest_oneclaw.web_server import RoutedWebServer as RoutedWebServer
    from pytest_oneclaw.web_server import WebAnswer as WebAnswer
    from pytest_oneclaw.web_server import WebServer as WebServer

__getattr__, __dir__, __all__ = lazy_names(__name__)
