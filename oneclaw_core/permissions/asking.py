"""Ask for permissions, and ask the user, on behalf of a call."""

from __future__ import annotations

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from oneclaw_core.errors import PermissionDeniedError, denied_for_good
from oneclaw_core.permissions.call_network import SEND_PERMISSION
from oneclaw_core.permissions.requests import SANDBOX, PermissionRequest, RequirePermission
from oneclaw_core.permissions.rules import directory_of, subject_of
from oneclaw_core.provenance.marks import asks_again
from oneclaw_core.tools.calls.call import Call, Caller, Handler, PermittedCall, Run, Step
from oneclaw_core.types.arguments import json_or_none
from oneclaw_core.types.tools import ToolResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from oneclaw_core.files.paths import PathGuard, TrustedDirectory
    from oneclaw_core.permissions.policy import PermissionPolicy
    from oneclaw_core.tools.calls.running_call import Questions
    from oneclaw_core.tools.registry import ToolRegistry
    from oneclaw_core.types.permissions import PassingGrant
    from oneclaw_core.types.user_question import UserQuestion


class Asking:
    """The only way from a call to the permission policy.

    Args:
        policy: decides, and asks the user.
        registry: knows what permissions mean.
    """

    def __init__(self, policy: PermissionPolicy, registry: ToolRegistry) -> None:
        self._policy = policy
        self._registry = registry

    def of(self, call: Call) -> RequirePermission:
        """Return a function that asks for a permission on behalf of a call, with the arguments that it has now."""

        async def require(
            permission: str,
            detail: str = "",
            subject: str | None = None,
            directory: str | None = None,
            sandbox: str | None = None,
            *,
            as_a_whole: bool = False,
        ) -> bool:
            request = self._request(call, permission, detail, subject, directory, as_a_whole=as_a_whole)
            within = call.caller.within
            if within is not None and sandbox is None and within.rules.wants_question(permission):
                request = replace(request, is_counted=True)
            try:
                with _outer_calls_paused(call.caller):
                    granted_by = await self._policy.require(request, sandbox, call.caller.refused, _in_script(call))
            except PermissionDeniedError as error:
                if within is not None and error.decided_by == "user":
                    within.rules.note_refusal(permission)
                if call.hooks is not None:
                    call.hooks.decided(permission, subject, is_granted=False, decided_by=error.decided_by)
                raise
            is_open = granted_by == SANDBOX and not sandbox  # the tool asks next
            if call.hooks is not None and not is_open:
                call.hooks.decided(permission, subject, is_granted=True, decided_by=granted_by)
            return granted_by != SANDBOX

        return require

    def _request(
        self, call: Call, permission: str, detail: str, subject: str | None, directory: str | None, *, as_a_whole: bool
    ) -> PermissionRequest:
        caller, conversation = call.caller, call.caller.conversation
        plugin = call.found.source.plugin if call.found is not None else None
        said = self._registry.get_permission_meaning(permission, plugin)
        return PermissionRequest(
            permission=permission,
            tool_name=call.asked.name,
            arguments=call.arguments,
            detail=detail,
            session_id=caller.session_of_user,
            subject=subject,
            meaning=said.text if said is not None else "",
            meaning_by=said.plugin if said is not None else None,
            agent=caller.agent,
            task=caller.task,
            directory=directory,
            on_behalf_of=caller.outer_agents,
            sub_agent=caller.sub_agent,
            holds=conversation.in_words() if conversation.outside else "",
            asks_again=asks_again(permission, conversation),
            as_a_whole=as_a_whole,
            call_id=call.asked.id,
            script=caller.within.in_words if caller.within is not None else "",
        )

    async def refuse_denied(self, call: Call, *permissions: str) -> None:
        """Refuse a call if the user has denied all of some permissions permanently.

        Raises:
            PermissionDeniedError: that is so.
        """
        await self._policy.refresh()
        denied = self.denied(call, *permissions)
        if denied and len(denied) == len(set(permissions)):
            raise denied_for_good(min(denied))

    def denied(self, call: Call, *permissions: str, with_patterns: bool = False) -> frozenset[str]:
        """Return those of some permissions that the user has denied for the call permanently."""
        request = self._request(call, "", "", None, None, as_a_whole=False)
        return self._policy.decisions.denied(*permissions, behalf=request, with_patterns=with_patterns)

    def granted_places(self, call: Call, permission: str) -> frozenset[str]:
        """Return the places that a permission is granted for without a question; ``"/"`` if any place is."""
        request = self._request(call, permission, "", None, None, as_a_whole=False)
        return self._policy.decisions.granted_places(request, _in_script(call) or ())

    def can_ask(self, call: Call) -> bool:
        """Return True if a person can be asked on behalf of a call."""
        return self._policy.people.can_ask_in(call.caller.session_of_user)

    def about_paths(self, call: Call, questions: Questions) -> QuestionsOfPaths:
        """Return what asks about paths on behalf of a running call."""
        can_ask, granted_places = partial(self.can_ask, call), partial(self.granted_places, call)
        return QuestionsOfPaths(questions, call.provenance.origins.project, can_ask, granted_places)

    async def ask_user(self, call: Call, question: UserQuestion, timeout_seconds: float | None) -> str | None:
        """Ask the user a question on behalf of a call; ``None`` also for values that do not fit its form."""
        caller = call.caller
        question = replace(
            question,
            tool=call.asked.name,
            agent=caller.agent,
            sub_agent=caller.sub_agent,
            session_id=caller.session_of_user,
            call_id=call.asked.id,
        )
        with _outer_calls_paused(caller):
            answer = await self._policy.people.ask_user(question, timeout_seconds)
        return fitting_answer(question, answer)


def fitting_answer(question: UserQuestion, answer: str | None) -> str | None:
    """Return an answer; ``None`` for one to a form that is not the JSON of values that fit."""
    if question.form is None or answer is None:
        return answer
    from oneclaw_core.json_schema.validation import argument_faults, compile_schema

    values = json_or_none(answer)
    fits = isinstance(values, dict) and not argument_faults(compile_schema(question.form), values)
    return answer if fits else None


def _in_script(call: Call) -> list[PassingGrant] | None:
    """Return the grants for the rest of the script that makes a call; ``None`` for a call of a model."""
    within = call.caller.within
    return within.rules.granted if within is not None else None


@contextmanager
def _outer_calls_paused(caller: Caller) -> Iterator[None]:
    """Let the time of all calls stand still that the calls of a caller are run within."""
    with (
        caller.turn.outer_calls_paused() if caller.turn is not None else nullcontext(),
        caller.within.clock.paused() if caller.within is not None else nullcontext(),
    ):
        yield


class QuestionsOfPaths:
    """Asks the user about paths, in a thread; see :class:`oneclaw_core.files.paths.PathQuestions`.

    Args:
        questions: of the call.
        project: the start directory; ``None`` for one that is never trusted.
        can_ask: returns True if a person can be asked.
        granted_places: returns the places that a permission is granted for.
    """

    def __init__(
        self,
        questions: Questions,
        project: TrustedDirectory | None,
        can_ask: Callable[[], bool],
        granted_places: Callable[[str], frozenset[str]] = lambda permission: frozenset(),
    ) -> None:
        self._questions = questions
        self._project = project
        self._can_ask = can_ask
        self.granted_places = granted_places
        self._agreed: set[str] = set()

    @property
    def is_trusted(self) -> bool:
        """True if the user trusts the start directory."""
        return self._project is not None and self._project.is_trusted

    def ask_trust(self, detail: str) -> bool:
        """Ask once whether to trust the start directory; return True if it is trusted now."""
        project = self._project
        if project is not None and not project.is_trusted and project.can_be_asked and self._can_ask():
            self._questions.in_thread("await context.writable(path)", self._ask_trust(project, detail))
        return self.is_trusted

    async def _ask_trust(self, project: TrustedDirectory, detail: str) -> None:
        self._questions.check_open()
        with self._questions.clock.paused():
            if await project.ask_trust(self._questions.require, detail):
                self._agreed.add(detail)

    def ask(self, permission: str, detail: str, path: Path, directory: Path | None) -> None:
        """Go on if the user grants a permission for a path.

        Raises:
            PermissionDeniedError: the user does not.
            OneClawError: this is the thread of an event loop, which would wait for itself.
        """
        name = f"{permission}:{path}"
        # Who trusts a directory to have a file written in it has agreed to that.
        if name in self._agreed or (directory is not None and detail in self._agreed):
            return
        place = None if directory is None else str(directory)
        question = self._questions.permission(permission, detail, str(path), place)
        self._questions.in_thread("await context.readable(path), or writable", question)
        self._agreed.add(name)


TEXT_CALL_PERMISSION = "calls.as_text"


def text_asked(asking: Asking) -> Step:
    """Return the step that asks before a call runs that the model wrote as text, unless it changes nothing."""

    async def step(call: Call, run: Handler) -> ToolResult:
        if call.caller.are_calls_text and not call.tool.definition.read_only:
            name = call.asked.name
            await asking.of(call)(TEXT_CALL_PERMISSION, f"run {name}, whose call the model wrote as text")
        return await run(call)

    return step


def exposed(asking: Asking) -> Step:
    """Return the step that asks before a tool of somebody else's server gets what a model composed.

    It asks where the tool has no permission, and the session holds both private data and text from outside.
    """

    async def step(call: Call, run: Handler) -> ToolResult:
        source, conversation = call.tool.source, call.caller.conversation
        is_foreign = source.is_supplied and source.is_foreign and not call.tool.definition.required_permissions
        if is_foreign and call.arguments and conversation.outside and conversation.private:
            name = call.asked.name
            detail = f"give the tool {name}, which a server supplies, these arguments"
            await asking.of(call)(SEND_PERMISSION, detail, name)
        return await run(call)

    return step


def permitted(asking: Asking, run: Run) -> Handler:
    """Return the end of the checks: it asks for each permission that the tool requires, and runs the tool.

    A tool that asks by itself runs unless all that it may need is denied: with a part of it, it can do the rest.

    Args:
        asking: asks for permissions.
        run: runs the tool.
    """

    async def end(call: Call) -> ToolResult:
        definition = call.tool.definition
        required = definition.required_permissions
        if required and definition.behaviour.asks_itself:
            await asking.refuse_denied(call, *required)
        elif required:
            require = asking.of(call)
            for permission in required:
                directory = directory_of(permission, call.arguments, partial(_paths_now, call))
                await require(permission, subject=subject_of(permission, call.arguments), directory=directory)
        return await run(PermittedCall(call))

    return end


async def denied(call: Call) -> ToolResult:
    """Refuse a call: the end of the checks where no permission policy is wired."""
    text = f"Tool '{call.asked.name}' was not run: there is no permission policy that could allow it."
    return ToolResult.error("permission_denied", text)


def _paths_now(call: Call) -> PathGuard:
    """Return the paths of a call as the user trusts the start directory now."""
    project = call.provenance.origins.project
    return replace(call.provenance.paths, trusts_start=project is not None and project.is_trusted)
