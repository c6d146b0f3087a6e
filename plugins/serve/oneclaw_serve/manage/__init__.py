"""The server's own pages, a module for each entry of the menu."""
