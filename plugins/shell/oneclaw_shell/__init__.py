"""A shell for OneClaw: run commands."""
