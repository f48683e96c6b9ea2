"""Files without a name that nobody can change any more: what a program is handed cannot be another."""

import os
import sys

if sys.platform == "linux":
    import fcntl

__all__ = ["sealed_file"]

_SEALED = 0b1111
"""F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE."""


def sealed_file(name: str, content: bytes) -> int:
    """A descriptor, at the beginning of the content. For Linux."""
    if sys.platform != "linux":
        raise OSError("Only Linux can seal files.")
    descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(descriptor, left) :]
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, _SEALED)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
