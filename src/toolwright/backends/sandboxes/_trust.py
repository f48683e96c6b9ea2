"""Which certificate authorities programs trust, and how they are told of others."""

import os
import ssl
from pathlib import Path

__all__ = ["TRUST_VARIABLES", "known_authorities"]

TRUST_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO",
                   "PIP_CERT", "AWS_CA_BUNDLE", "DENO_CERT", "NODE_EXTRA_CA_CERTS")  # fmt: skip
"""Variables that name a file with authorities to trust."""
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
            "/etc/ssl/cert.pem")  # fmt: skip


def known_authorities() -> str:
    """The certificates that this program would trust; empty where they are not in one file."""
    named = (os.environ.get("SSL_CERT_FILE"), ssl.get_default_verify_paths().cafile, *_BUNDLES)
    for path in named:
        if path and Path(path).is_file():
            return Path(path).read_text(encoding="utf-8", errors="replace").rstrip() + "\n"
    return ""
