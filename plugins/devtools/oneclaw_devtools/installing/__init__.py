"""Plugin packages, installed by pip or uv into the environment that OneClaw runs in.

::

    environment      the environment, and what installs into it
    requirement      the packages that the user asks for, parsed
    neutral_process  pip and uv as processes that no checkout configures
    package_manager  resolve, install, uninstall
    plugin_changes   the installed packages, and which plugins came and went
    record           the installed plugins, kept in the home
    installer        install, upgrade, uninstall, sync
"""
