"""The steps of `oneclaw setup`: service, key, model, test, storing."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from oneclaw_core import OneClaw, OneClawError, UsageError, redact, remember_secret
from oneclaw_core.cli import print_text, printable, printable_line, run_async, warn
from oneclaw_setup.asking import ask_key, choose, choose_model, confirm
from oneclaw_setup.candidate import Candidate, ask_model, check, list_models, store, undisturbed
from oneclaw_setup.local_servers import KNOWN_PORTS, find_servers
from oneclaw_setup.services import own_service, services

if TYPE_CHECKING:
    from oneclaw_setup.services import Service

_ANOTHER = "Another service that speaks Chat Completions, by its address"
_MAX_ANSWER_CHARACTERS = 400


@dataclass(frozen=True, slots=True)
class Given:
    """Answers that the command line gives beforehand.

    Attributes:
        provider: the name of the service.
        type_name: the wire format of a service that is not known.
        base_url: where such a service is.
        model: its model, without the provider.
        key_variable: the environment variable with its key.
        says_yes: True if nothing is to be asked.
        is_tested: False to send no request.
    """

    provider: str | None = None
    type_name: str | None = None
    base_url: str | None = None
    model: str | None = None
    key_variable: str | None = None
    says_yes: bool = False
    is_tested: bool = True


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Configuration that is there already.

    Attributes:
        services: that can be set up, by name; servers on this machine first.
        servers: the names of the servers that were found on this machine.
        default_model: the model in use.
        default_source: where that is said.
    """

    services: dict[str, Service]
    servers: tuple[str, ...]
    default_model: str
    default_source: str


async def look_around() -> Surroundings:
    """Find what is configured, and the model servers on this machine."""
    async with OneClaw.open() as claw:
        states = await claw.configuration.providers.list()
        model, source = await claw.configuration.models.default()
    known, servers = services(states), await find_servers()
    for server in servers:
        before = known.get(server.name)
        is_there = before is not None and before.is_configured and before.base_url == server.base_url
        found = replace(server, is_configured=is_there, has_stored_key=is_there and before.has_stored_key)  # type: ignore[union-attr]
        known[server.name] = found
    names = tuple(each.name for each in servers)
    return Surroundings({name: known[name] for name in (*names, *known)}, names, model, source)


def set_up_model(given: Given, *, may_ask: bool) -> Candidate | None:
    """Choose a model, test it and store it.

    Args:
        given: what need not be asked.
        may_ask: True if somebody sits at a terminal.

    Returns:
        What was stored; ``None`` if the user did not agree.

    Raises:
        UsageError: something is missing that cannot be asked for.
        OneClawError: the model does not answer, or something cannot be stored.
    """
    if may_ask:
        print_text("Looking for model servers on this machine ...")
    around = run_async(look_around())
    if may_ask and around.default_source != "default":
        print_text(f"The default model is {around.default_model}. It stays until another one is stored.")
    service = _service(given, around, may_ask=may_ask)
    candidate = _with_model(_with_key(service, given, may_ask=may_ask), given, may_ask=may_ask)
    if given.is_tested:
        candidate = _tested(candidate, given, may_ask=may_ask)
    print_text(f"Default model: {candidate.full_model}")
    if candidate.service.base_url is not None:
        print_text(f"Address: {printable_line(candidate.service.base_url)}")
    print_text(f"Key: {_about_key(candidate)}")
    if not given.says_yes and not confirm("Store this?"):
        print_text("Nothing was stored.")
        return None
    with undisturbed():
        place = run_async(store(candidate))
    print_text("Stored." if place is None else f"Stored; the key is in the {_PLACES.get(place, place)}.")
    _warn_of_environment(candidate)
    return candidate


_PLACES = {"keyring": "system keyring", "file": "file keys.json of the home, readable only by you"}


def _service(given: Given, around: Surroundings, *, may_ask: bool) -> Service:
    if given.provider is not None:
        return _named_service(given, around)
    if given.base_url is not None or not may_ask:
        raise UsageError("say which service: --provider NAME, with --base-url URL for one that is not known")
    offered = list(around.services.values())
    lines = [_offer(each, is_local=each.name in around.servers) for each in offered]
    chosen = choose("Which service?", [*lines, _ANOTHER])
    return offered[chosen] if chosen < len(offered) else _another_service()


def _named_service(given: Given, around: Surroundings) -> Service:
    name = given.provider or ""
    known = around.services.get(name)
    if known is not None:
        if given.base_url is None:
            return known
        if known.is_configured and known.wants_key and known.base_url is None:
            raise UsageError(f"{name} is known from the start: give a service at another address another name")
        return replace(known.at(given.base_url), wants_key=False)
    if given.base_url is None:
        if name in KNOWN_PORTS:
            title, port = KNOWN_PORTS[name]
            raise UsageError(
                f"no {title} answers at http://localhost:{port}: start it, or say where it is: --base-url URL"
            )
        raise UsageError(f"{name!r} is not a known service ({', '.join(around.services)}): add --base-url URL")
    return own_service(name, given.base_url, given.type_name or "openai_compatible")


def _another_service() -> Service:
    while True:
        address: str = click.prompt("Its address, such as http://localhost:8000/v1", err=True)
        service = own_service("own", address.strip())
        if _is_valid(service):
            break
    while True:
        name: str = click.prompt("A name for it", default="own", err=True)
        service = own_service(name.strip(), address.strip())
        if _is_valid(service):
            return service


def _is_valid(service: Service) -> bool:
    try:
        run_async(check(service))
    except UsageError as error:
        warn(str(error))
        return False
    return True


def _offer(service: Service, *, is_local: bool) -> str:
    if is_local:
        count = f"{len(service.models)} model{'' if len(service.models) == 1 else 's'}"
        return f"{service.title} on this machine, {count if not service.wants_key else 'wants a key'}"
    if os.environ.get(service.key_variable):
        return f"{service.title} (key in {service.key_variable})"
    if service.name in KNOWN_PORTS:
        return f"{service.title} (no answer at {service.base_url})"
    return f"{service.title} (its key is stored)" if service.has_stored_key else service.title


def _with_key(service: Service, given: Given, *, may_ask: bool) -> Candidate:
    """Decide where the key is from: the environment, the secret store, or what is typed."""
    if given.key_variable is not None:
        key = os.environ.get(given.key_variable)
        if not key:
            raise UsageError(f"the environment variable {given.key_variable} is not set")
        # The provider reads its own variable by itself: nothing need be stored.
        return Candidate(service, None if given.key_variable == service.key_variable else _remembered(key))
    if os.environ.get(service.key_variable):
        if not may_ask or given.says_yes or confirm(f"Use the key in {service.key_variable}, and leave it there?"):
            return Candidate(service)
        return Candidate(service, _typed_key(service))
    if service.has_stored_key:
        if not may_ask or given.says_yes or confirm(f"Keep the stored key of {service.title}?"):
            return Candidate(service)
        return Candidate(service, _typed_key(service))
    is_asked = service.wants_key or (service.name not in KNOWN_PORTS and not service.is_configured)
    if may_ask and is_asked:
        return Candidate(service, _typed_key(service))
    if service.wants_key:
        raise UsageError(f"{service.title} wants a key: add --key-from-env NAME, or set {service.key_variable}")
    return Candidate(service)


def _typed_key(service: Service) -> str | None:
    while True:
        key = ask_key(service.title if service.wants_key else f"{service.title}, Enter for none")
        if key is not None:
            return _remembered(key)
        if not service.wants_key:
            return None
        print_text(f"{service.title} wants a key.")


def _remembered(key: str) -> str:
    remember_secret(key)
    return key


def _with_model(candidate: Candidate, given: Given, *, may_ask: bool) -> Candidate:
    if given.model is not None:
        return candidate.with_model(given.model.removeprefix(f"{candidate.service.name}/"))
    while True:
        names, problem = list(candidate.service.models), None
        if not names:
            names, problem = run_async(list_models(candidate))
        if problem is None or not may_ask:
            break
        warn(redact(problem))
        if not confirm("Change the address or the key, and try again? With no, you type the name of a model."):
            break
        candidate = _corrected(candidate)
    if may_ask:
        return candidate.with_model(choose_model(names))
    if len(names) == 1:
        return candidate.with_model(names[0])
    listed = ", ".join(names[:20]) or problem or "none is listed"
    raise UsageError(f"say which model: --model NAME; {candidate.service.title} has: {redact(listed)}")


def _tested(candidate: Candidate, given: Given, *, may_ask: bool) -> Candidate:
    """Send the model a request until it answers, or the user wants no more."""
    while True:
        print_text(f"Testing {candidate.full_model} with one request ...")
        try:
            answer = run_async(ask_model(candidate))
        except OneClawError as error:
            if not may_ask or given.says_yes:
                raise
            warn(redact(str(error)))
        else:
            print_text(f"It answers: {printable(' '.join(answer.split()))[:_MAX_ANSWER_CHARACTERS] or '(nothing)'}")
            return candidate
        what = choose(
            "What now?",
            ["Try again", "Change the key or the address", "Choose another model", "Store it all the same", "Stop"],
        )
        if what == 1:
            candidate = _corrected(candidate)
        elif what == 2:
            names, problem = run_async(list_models(candidate))
            if problem is not None:
                warn(redact(problem))
            candidate = candidate.with_model(choose_model(names, candidate.model))
        elif what == 3:
            return candidate
        elif what == 4:
            raise click.Abort


def _corrected(candidate: Candidate) -> Candidate:
    service = candidate.service
    if service.base_url is not None:
        service = _at_another_address(service)
    key = ask_key(f"{service.title}, Enter for the same")
    return Candidate(service, candidate.key if key is None else _remembered(key), candidate.model)


def _at_another_address(service: Service) -> Service:
    while True:
        address: str = click.prompt("Address", default=service.base_url, err=True)
        moved = service.at(address.strip())
        if moved.is_configured or _is_valid(moved):
            return moved


def _about_key(candidate: Candidate) -> str:
    service = candidate.service
    if candidate.key is not None:
        return "to be stored in the secret store"
    if os.environ.get(service.key_variable):
        return f"in the environment variable {service.key_variable}"
    return "stored already" if service.has_stored_key else "none"


def _warn_of_environment(candidate: Candidate) -> None:
    if candidate.key is not None and os.environ.get(candidate.service.key_variable):
        warn(f"the environment variable {candidate.service.key_variable} goes before the stored key")
    model = os.environ.get("ONECLAW_MODEL")
    if model and model != candidate.full_model:
        warn(f"the environment variable ONECLAW_MODEL goes before the default model: it says {model}")
