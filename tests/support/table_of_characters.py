"""Have Hypothesis make its table of all characters, which takes it a second of computing in a fresh checkout.

Import it before processes are forked: each of them would make the table, as none finds the file of another yet.
"""

from hypothesis import strategies

strategies.text().validate()
