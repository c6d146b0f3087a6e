"""JSON and JSON Schema of arguments: parse, read leniently, validate; check and shorten schemas."""
