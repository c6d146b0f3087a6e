"""It cannot be parsed."""

def broken(:
