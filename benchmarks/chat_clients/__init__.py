"""Clients of Chat Completions at ``/v1`` of a real ``oneclaw serve``, with a model that answers by a script."""
