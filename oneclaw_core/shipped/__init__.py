"""Parts that the distributions of OneClaw bring, and how to get what is missing."""
