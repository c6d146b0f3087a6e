"""Names that the packaging of OneClaw fixes."""

CORE_DISTRIBUTION = "oneclaw-core"
ENTRY_POINT_GROUP = "oneclaw"
BUILTIN_PLUGIN = "builtin"
