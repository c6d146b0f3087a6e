"""The version of OneClaw."""

__version__ = "0.2.0"
USER_AGENT = f"oneclaw/{__version__}"
