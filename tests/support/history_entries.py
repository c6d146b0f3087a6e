"""Entries of a history, as tests of the wire formats write them, and what the vendors' types find in a request."""

import json
from dataclasses import replace

from pydantic import BaseModel

from oneclaw_core.types.messages import Attachment, Message, MessageType, ToolCallStatus

PNG = Attachment("chart.png", "image/png", b"\x89PNG")
PDF = Attachment("report.pdf", "application/pdf", b"%PDF")
INTERRUPTED = {
    "status": "error",
    "error_type": "interrupted",
    "message": "This call was interrupted before its outcome was known.",
}


def user(text, *attachments):
    return Message(type=MessageType.USER, content=text, attachments=attachments)


def assistant(text="", data=None, sequence=None):
    return Message(type=MessageType.ASSISTANT, content=text, provider_data=data, sequence=sequence)


def call(call_id, name="find", arguments="{}", status=ToolCallStatus.SUCCESS):
    return Message(
        type=MessageType.TOOL_CALL, tool_call_id=call_id, tool_name=name, tool_input=arguments, tool_status=status
    )


def load(call_id, group):
    return call(call_id, "load_tool_group", json.dumps({"group_name": group}))


def result(call_id, text="found", *attachments):
    return Message(
        type=MessageType.TOOL_RESULT,
        tool_call_id=call_id,
        content=text,
        tool_status=ToolCallStatus.SUCCESS,
        attachments=attachments,
    )


def failure(call_id, error_type, text):
    return replace(result(call_id, text), tool_status=ToolCallStatus.ERROR, error_type=error_type)


def forced(value):
    """Read what pydantic validates only once it is read, as everything is that the SDKs' types call an iterable."""
    if isinstance(value, dict):
        return {key: forced(each) for key, each in value.items()}
    if isinstance(value, str | bytes) or not hasattr(value, "__iter__"):
        return value
    return [forced(each) for each in value]


def unknown_fields(event):
    """The fields that the SDK does not know, but keeps."""
    if isinstance(event, list):
        return [name for each in event for name in unknown_fields(each)]
    if not isinstance(event, BaseModel):
        return []
    return [*(event.model_extra or ()), *unknown_fields([getattr(event, name) for name in type(event).model_fields])]
