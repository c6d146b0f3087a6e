"""Tool sources of an open home, and the tools that they publish."""
