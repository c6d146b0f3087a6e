"""Sign-in to services by OAuth 2.1: a browser on loopback or a pasted address, PKCE, refresh, several accounts.

``service`` says what a service is, ``client`` is what plugins call. The parts work by themselves too: ``consent``
brings the user to the service and listens for the browser, ``tokens`` sends requests, ``accounts`` stores.
"""
