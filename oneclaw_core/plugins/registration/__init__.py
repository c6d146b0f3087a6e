"""What plugins register, as data and through registrars."""
