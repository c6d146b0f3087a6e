"""Development tools for OneClaw plugins: make, check, install and sync them."""
