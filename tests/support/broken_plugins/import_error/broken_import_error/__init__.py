"""It imports a module that nobody has."""

import a_module_that_is_nowhere
