"""Web pages for OneClaw: fetch a page as Markdown."""
