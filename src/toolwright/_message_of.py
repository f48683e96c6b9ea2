"""The text of any exception, also of one that fails to say it."""

__all__ = ["message_of", "named_message_of"]


def message_of(error: BaseException) -> str:
    """What `str(error)` says; user code may have broken that."""
    try:
        return str(error)
    except Exception as failure:  # noqa: BLE001 - whatever somebody's `__str__` raises
        return f"(its message cannot be read: {type(failure).__name__})"


def named_message_of(error: BaseException) -> str:
    """The same, after the exception's type."""
    return f"{type(error).__name__}: {message_of(error)}"
