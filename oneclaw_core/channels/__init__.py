"""What all channels share, whichever way a person talks with OneClaw."""
