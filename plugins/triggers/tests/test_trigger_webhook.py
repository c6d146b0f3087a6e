"""The trigger ``webhook``: tokens and requests."""

import asyncio

import pytest
from following import Fired

from oneclaw_core.plugins import WebRequest


@pytest.fixture
def answers(oneclaw_factory):
    """Set up a webhook and send requests to it; give what it answers and reports."""

    def answers(*requests):
        async def scene():
            async with oneclaw_factory(["triggers"]).opened() as claw:
                trigger = claw.services.trigger("webhook")
                made = await trigger.set_up({})
                fired, statuses = Fired(), []
                for authorization, headers in requests:
                    head = {"authorization": authorization.format(**made.values), **headers}
                    asked = WebRequest(method="POST", path_parameters={"id": "t1"}, headers=head, body=b'{"a": 1}')
                    statuses.append((await trigger.take_request(made.parameters, asked, fired)).status)
                return made, statuses, fired.events

        return asyncio.run(scene())

    return answers


def test_only_a_request_with_the_token_starts_the_task(answers):
    made, statuses, events = answers(
        ("", {}),
        ("Bearer wrong", {}),
        ("Basic {token}", {}),
        ("Bearer {token}", {"x-github-delivery": "7"}),
        ("bearer {token}", {}),
    )

    assert statuses == [403, 403, 403, 202, 202]
    text = 'a request to its webhook, with the body:\n{"a": 1}'
    assert events == [(text, "webhook t1 7"), (text, None)]
    assert made.values["token"] not in repr(made.parameters)
    assert f"Authorization: Bearer {made.values['token']}" in made.note


def test_each_webhook_has_another_token(answers):
    assert answers()[0].values != answers()[0].values
