"""What transport tests share."""

import asyncio
import importlib
import os
import ssl

import pytest
import trustme

if os.environ.get("LIMEN_TEST_LOOP") == "uvloop":
    # Every test of this folder on uvloop; test_uvloop.py starts such a run.
    asyncio.set_event_loop_policy(importlib.import_module("uvloop").EventLoopPolicy())


@pytest.fixture(scope="session")
def certificate() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate of its own, and a client's that trusts it."""
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)
    client = ssl.create_default_context()
    authority.configure_trust(client)
    return server, client
