"""What stands where a public name cannot load for want of a package: using it says what to install."""

from typing import Any, NoReturn

__all__ = ["is_stand_in", "stand_in"]


class _Missing(type):
    """The type of stand-ins. They can be imported, listed and asked about, but not used."""

    _error: ImportError

    def __new__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> "_Missing":
        for base in bases:
            if isinstance(base, _Missing):
                base._refuse()
        return super().__new__(cls, name, bases, members)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        cls._refuse()

    def __getattr__(cls, name: str) -> Any:
        # What `inspect`, `help` and `copy` look for is simply not there.
        if name.startswith("_"):
            raise AttributeError(f"{cls.__name__!r} has no attribute {name!r}")
        cls._refuse()

    def _refuse(cls) -> NoReturn:
        raise ImportError(str(cls._error)) from cls._error


def stand_in(name: str, error: ImportError) -> Any:
    """A class for `name` that raises `error` again when it is called, subclassed or looked into."""
    members = {"__doc__": f"Not installed. {error}", "__module__": "toolwright", "_error": error}
    return _Missing(name, (), members)


def is_stand_in(value: Any) -> bool:
    """Whether it is one: it is not kept, so that the package is found once it is there."""
    return isinstance(value, _Missing)
