"""The capabilities of plugins, seen in a sandbox and shown on a page before a user accepts them."""
