"""What transport tests share."""

import asyncio
import importlib
import os
import shutil
import ssl
import subprocess

import pytest

if os.environ.get("LIMEN_TEST_LOOP") == "uvloop":
    # Every test of this folder on uvloop; test_uvloop.py starts such a run.
    asyncio.set_event_loop_policy(importlib.import_module("uvloop").EventLoopPolicy())


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """A server's context with a certificate of its own, and a client's that trusts it."""
    command = shutil.which("openssl")
    if command is None:
        pytest.skip("the openssl command, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("tls")
    key, pem = folder / "key.pem", folder / "cert.pem"
    wanted = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=test -addext"
    subject = "subjectAltName=IP:127.0.0.1"
    arguments = [*wanted.split(), subject, "-keyout", str(key), "-out", str(pem)]
    subprocess.run([command, "req", "-x509", *arguments], check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem, key)
    return server, ssl.create_default_context(cafile=str(pem))
