"""Installing plugins into the environment that OneClaw runs in, whoever made it, and remembering what was asked for.

::

    environment     what kind of environment this is, and what installs into it
    requirement     what the user asks for, checked
    uv_receipt      what ``uv tool`` has noted of its environment
    commands        the programs to run: one function for each kind of environment
    running         running one of them
    packages        what is installed, and which of it are plugins
    plugin_changes  which plugins, tools and groups came and went
    record          what the user has installed, kept in the home
    installer       all of it together: install, upgrade, uninstall, sync
"""
