"""What holds for the tests of plugins in the work tree, also where only they are run."""

from how_long import register_profiles

register_profiles()
