"""Registrations of plugins: the data and the registrars."""
