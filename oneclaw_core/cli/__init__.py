"""The `oneclaw` program, one module a noun."""
