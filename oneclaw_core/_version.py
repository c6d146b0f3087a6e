"""The version of OneClaw."""

__version__ = "0.2.0"
