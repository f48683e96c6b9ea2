"""A certificate authority that one sandbox trusts, for the hosts its proxy puts secrets in for."""

import datetime
import ipaddress
import ssl
from collections.abc import Iterable

from toolwright._temporary import passing_directory

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError as error:
    raise ImportError(
        "Secrets for a sandbox need an extra: pip install 'toolwright[sandbox]'"
    ) from error

__all__ = ["Authority"]

_LIFETIME = datetime.timedelta(days=365)
_MOST_CONTEXTS = 64
"""Kept at a time: below a pattern, those inside can name any number of hosts."""
_PEM = serialization.Encoding.PEM


class Authority:
    """Signs certificates for `hosts`, and for no others; its key never leaves this program."""

    def __init__(self, hosts: Iterable[str]) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("Toolwright sandbox")
        permitted = [_general_name(host.removeprefix("*.")) for host in hosts]
        # Whoever takes the certificate out of the sandbox can do no harm to other hosts with it.
        constraints = x509.NameConstraints(permitted_subtrees=permitted, excluded_subtrees=None)
        self._certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(constraints, critical=True)
            .add_extension(_key_usage(signs=True), critical=True)
            .add_extension(_subject(self._key), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self._contexts: dict[str, ssl.SSLContext] = {}

    @property
    def pem(self) -> str:
        """What those inside must trust."""
        return self._certificate.public_bytes(_PEM).decode()

    def context_for(self, host: str) -> ssl.SSLContext:
        """What makes a server on a connection look like `host` to those who trust this."""
        if host not in self._contexts:
            if len(self._contexts) == _MOST_CONTEXTS:
                del self._contexts[next(iter(self._contexts))]
            self._contexts[host] = self._made(host)
        return self._contexts[host]

    def _made(self, host: str) -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(_name(host[:64]), self._name, key)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_key_usage(signs=False), critical=True)
            .add_extension(_subject(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
            .sign(self._key, hashes.SHA256())
        )
        private = key.private_bytes(
            _PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["http/1.1"])
        # The ssl module reads certificates from files only.
        with passing_directory() as folder:
            path = folder / "pair.pem"
            path.touch(mode=0o600)
            path.write_bytes(certificate.public_bytes(_PEM) + private)
            context.load_cert_chain(path)
        return context


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + _LIFETIME)
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _subject(key: ec.EllipticCurvePrivateKey) -> x509.SubjectKeyIdentifier:
    return x509.SubjectKeyIdentifier.from_public_key(key.public_key())


def _key_usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
