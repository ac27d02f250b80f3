"""A certificate that nobody trusts, made when it is needed."""

import ssl
import subprocess
import tempfile
from pathlib import Path
from shutil import which


class NoCertificate(RuntimeError):
    """Raised where there is no `openssl` command to make a certificate with."""


def self_signed(host: str) -> ssl.SSLContext:
    """Return a server's context with a fresh self-signed certificate; raises `NoCertificate`."""
    command = which("openssl")
    if command is None:
        raise NoCertificate("a self-signed certificate is made by the openssl command, which is not installed")
    with tempfile.TemporaryDirectory(prefix="limen-mock-") as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        alternative = f"subjectAltName=IP:{host}" if host[:1].isdigit() else f"subjectAltName=DNS:{host}"
        wanted = (
            f"-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN={host} -addext {alternative}"
        )
        places = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run([command, "req", "-x509", *wanted.split(), *places], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    return context
