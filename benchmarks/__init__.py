"""OneClaw and its peers, measured on the same work in the same run."""
