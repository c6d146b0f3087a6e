"""It imports a module that no one has."""

import a_module_that_is_nowhere
