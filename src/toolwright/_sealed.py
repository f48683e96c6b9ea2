"""Attributes that would do nothing cannot be set: what a thing is made of is given when it is made."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, ClassVar, TypeVar, cast

from toolwright._settings import check_setting, explain, explained, is_foreign, near_names
from toolwright.errors import SettingError

__all__ = ["Sealed", "last_init", "sealed", "settings_of"]

C = TypeVar("C", bound=type)
_PUBLIC: list[type] = []
"""The classes of ours whose settings nobody should set on something else."""
_TAKES_EFFECT = ("__isabstractmethod__", "__class__")
_MEANT = {"__doc__": "description", "__name__": "name"}


class Sealed:
    """A base of what the library offers for making: wrong settings are explained, late ones refused.

    Once it is made, a setting cannot be changed, and an attribute it does not have cannot be set.
    Names with an underscore are its own affair, but not `__doc__` and the like, which are read when
    it is made. A subclass outside the library may have further
    attributes; a name that looks like a setting must be declared or used in that class, else setting
    it is taken for a mistake.
    """

    __slots__ = ()
    _sealed = False
    _live: ClassVar[tuple[str, ...]] = ()
    """The settings that are read at each use, so that changing them does something."""

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if not _is_ours(cls):
            _refuse_covered(cls)
        elif "__init__" in vars(cls):
            init = _sealing(explained(vars(cls)["__init__"]))
            cls.__init__ = init  # type: ignore[method-assign]
            _PUBLIC.append(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        if self._sealed and (name[0] != "_" or name[:2] == "__" == name[-2:]):
            _refuse(self, name, value)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if self._sealed and (_is_ours(type(self)) or name in settings_of(type(self))):
            raise AttributeError(f"{name!r} of {_label(self)} cannot be deleted.")
        object.__delattr__(self, name)

    def _before_init(
        self, args: tuple[Any, ...], settings: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
        """What it is made with instead of `args` and `settings`; called before it is made."""
        return args, settings

    def _how_to_change(self, name: str) -> str:
        """What to write instead of setting `name`."""
        return f"{type(self).__name__}(…, {name}=…)"


def sealed(cls: C) -> C:
    """The same for a frozen dataclass, whose own refusal does not say what to do instead."""
    init = explained(cls.__init__)

    def change(self: Any, name: str, *value: Any) -> None:
        if name in settings_of(cls):
            raise dataclasses.FrozenInstanceError(
                f"{name!r} of {cls.__name__} cannot be changed; make another one: "
                f"dataclasses.replace(…, {name}=…)."
            )
        _refuse_unknown(self, name)
        (object.__setattr__ if value else object.__delattr__)(self, name, *value)

    changed = {"__init__": init, "__setattr__": change, "__delattr__": change}
    for name, method in changed.items():
        setattr(cls, name, method)
    _PUBLIC.append(cls)
    return cls


@functools.cache
def settings_of(cls: type) -> Mapping[str, Any]:
    """The settings that our own classes among `cls` and its bases take."""
    inits = [
        vars(base)["__init__"] for base in filter(_is_ours, cls.__mro__) if "__init__" in vars(base)
    ]
    found = {k: v for init in inits for k, v in inspect.signature(init).parameters.items()}
    return {k: v for k, v in found.items() if k != "self" and v.kind is not v.VAR_KEYWORD}


def _sealing(init: Callable[..., None]) -> Callable[..., None]:
    """`init`, after which nothing is set any more, unless a subclass of ours goes on."""

    @functools.wraps(init)
    def made(self: Any, *args: Any, **settings: Any) -> None:
        is_last = last_init(type(self)) is made
        taken = self._before_init(args, settings) if is_last else (args, settings)
        init(self, *taken[0], **taken[1])
        if is_last:
            object.__setattr__(self, "_sealed", True)

    return cast(Callable[..., None], made)


@functools.cache
def last_init(cls: type) -> Any:
    """The `__init__` of our own class that `cls` is or is derived from."""
    return next(base for base in cls.__mro__ if _is_ours(base)).__init__  # type: ignore[misc]


def _refuse(thing: Any, name: str, value: Any) -> None:
    """Raise unless setting `name` to `value` does something."""
    cls = type(thing)
    if name[0] == "_":
        _refuse_special(thing, name)
        return
    if name in thing._live:
        check_setting(cls.__name__, name, value, inspect.unwrap(last_init(cls)))
        return
    if name in settings_of(cls):
        raise AttributeError(
            f"{name!r} of {_label(thing)} cannot be changed; make another one: "
            f"{thing._how_to_change(name)}."
        )
    if name not in vars(thing) and not hasattr(cls, name):
        _refuse_unknown(thing, name)


def _refuse_special(thing: Any, name: str) -> None:
    """Raise for a name that Python gives a meaning to, on a thing of ours."""
    if name in _TAKES_EFFECT or not _is_ours(type(thing)):
        return
    meant = _MEANT.get(name, "")
    instead = f": {thing._how_to_change(meant)}" if meant in settings_of(type(thing)) else ""
    raise AttributeError(
        f"{name!r} of {_label(thing)} is read when it is made, so setting it would do nothing; "
        f"make another one{instead}."
    )


def _refuse_unknown(thing: Any, name: str) -> None:
    """Raise unless an attribute that we know nothing of may be one of a user's own class."""
    cls = type(thing)
    if _is_ours(cls):
        raise AttributeError(_no_attribute(thing, name))
    if _looks_like_setting(cls, name):
        own = f" If it is one of your own, declare it in class {cls.__name__}."
        raise AttributeError(_no_attribute(thing, name) + own)


@functools.cache
def _looks_like_setting(cls: type, name: str) -> bool:
    """Whether `name` is, or nearly is, that of a setting, and `cls` itself knows nothing of it."""
    if any(name in _own_names(base) for base in _theirs(cls)):
        return False
    return is_foreign(name) or bool(_nearest(cls, name))


def _nearest(cls: type, name: str) -> str:
    """The setting of any class of ours, or the attribute of `cls`, that `name` is or nearly is."""
    known = {key for public in _PUBLIC for key in settings_of(public)}
    known.update(key for key in dir(cls) if key[0] != "_" and not callable(getattr(cls, key)))
    # Short names are near to each other by chance.
    cutoff = 0.85 if len(name) > 4 else 1.0
    near = near_names(name, sorted(known), cutoff=cutoff)
    return near[0] if near else ""


def _theirs(cls: type) -> list[type]:
    return [base for base in cls.__mro__ if not _is_ours(base) and base is not object]


def _own_names(cls: type) -> set[str]:
    """What a class of the user's own declares, and what its functions use."""
    used = (name for code in _codes(cls) for name in _names_in(code))
    return {*vars(cls).get("__annotations__", {}), *used}


def _codes(cls: type) -> Iterator[CodeType]:
    for value in vars(cls).values():
        written = getattr(value, "__func__", None) or getattr(value, "fget", None) or value
        code = getattr(inspect.unwrap(written) if callable(written) else None, "__code__", None)
        if isinstance(code, CodeType):
            yield code


def _names_in(code: CodeType) -> set[str]:
    inner = [_names_in(const) for const in code.co_consts if isinstance(const, CodeType)]
    return set(code.co_names).union(*inner)


def _refuse_covered(cls: type) -> None:
    """Raise when an attribute of `cls` would be covered by the setting that `__init__` stores.

    Unless its own code uses it, for instance to hand it on, or our class works the setting out.
    """
    nearest = next(base for base in cls.__mro__ if _is_ours(base))
    if "__dataclass_fields__" in vars(nearest):  # then attributes may become defaults
        return
    used = {name for code in _codes(cls) for name in _names_in(code)}
    for name in vars(cls).keys() & settings_of(cls).keys() - used:
        ours = next((vars(b)[name] for b in cls.__mro__ if _is_ours(b) and name in vars(b)), None)
        if not isinstance(ours, property):
            raise SettingError(
                f"{cls.__name__}.{name} would do nothing: {name!r} is a setting, and what the "
                f"constructor is given counts. Write an __init__ that hands it on: "
                f"super().__init__(…, {name}=…)."
            )


def _no_attribute(thing: Any, name: str) -> str:
    hint = explain(name, settings_of(type(thing)))
    near = _nearest(type(thing), name) if not hint else name
    hint = hint if near in ("", name) else f" Did you mean {near!r}?"
    return f"{type(thing).__name__} has no attribute {name!r}; setting it would do nothing.{hint}"


def _label(thing: Any) -> str:
    name = getattr(thing, "name", None)
    return f"{type(thing).__name__} {name!r}" if isinstance(name, str) else type(thing).__name__


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("toolwright.")
