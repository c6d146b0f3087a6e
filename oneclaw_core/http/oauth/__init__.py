"""Sign-in to services by OAuth 2.1: a browser on loopback or a pasted address, PKCE, refresh, several accounts.

``service`` says what a service is, ``client`` is what plugins call. The parts work by themselves too: ``redirect``
listens for the browser, ``consent`` brings the user to it, ``token_endpoint`` sends requests, ``accounts`` stores.
"""
