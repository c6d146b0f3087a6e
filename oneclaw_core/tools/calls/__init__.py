"""The path of a tool call: small steps in a fixed order, and the tool at their end; see ``steps``."""
