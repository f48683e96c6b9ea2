"""Import the object that a file or a module has by a name: of exactly the file that is named."""

import hashlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from toolwright.errors import UsageError
from toolwright.kits._import_errors import import_error

__all__ = ["find_code", "import_object", "is_path"]

_added: list[str] = []
"""Where Python looks since a place was named, the last one first."""


def import_object(name: str, *places: Path) -> Any:
    """The object that `package.module:name` or `path/to/file.py:name` names.

    The module is looked for in the places first, then where Python looks; a file in the places, or in
    the current directory where there are none. Another module that has a file's name already does
    not stand in for it: the file then gets a name of its own. What the module imports itself is
    found in the places last, behind what is installed.
    """
    written, _, attribute = name.rpartition(":")
    if not written or not attribute or not (is_path(written) or all(written.split("."))):
        raise UsageError(
            f"{name!r} does not name an object; write it as 'package.module:name' or "
            "'path/to/file.py:name'."
        )
    load = _loader(written, places)
    try:
        value: Any = load()
    except (Exception, SystemExit) as error:
        raise import_error(name, error) from error
    for part in attribute.split("."):
        if not hasattr(value, part):
            public = ", ".join(n for n in vars(value) if not n.startswith("_"))
            raise UsageError(f"{written!r} has no {part!r}; it has: {public}.")
        value = getattr(value, part)
    return value


def is_path(written: str) -> bool:
    """Whether it is the path of a file that is meant, and not the name of a module."""
    return "/" in written or os.sep in written or written.endswith(".py")


def find_code(written: str, places: Sequence[Path]) -> tuple[Path, Path] | None:
    """The file or package that a path names in one of the places, and where its name begins."""
    for place in map(Path.absolute, places):
        code = Path(os.path.normpath(place / written))
        if code.name == "__init__.py":
            code = code.parent
        if code.suffix != ".py" and not (code / "__init__.py").is_file():
            code = code.with_name(f"{code.name}.py")  # As for Python, a package comes first.
        if code.is_file() or (code / "__init__.py").is_file():
            return code, place if place in code.parents else code.parent
    return None


def _loader(written: str, places: Sequence[Path]) -> Callable[[], ModuleType]:
    for place in reversed(places):
        _look_in(place)
    places = places or [Path.cwd()]
    found = find_code(written, places) if is_path(written) else _module_in(written, places)
    if found is not None:
        _look_in(found[1])
        return partial(_load, *found)
    if is_path(written):
        raise UsageError(f"There is no Python file {written!r} in {' or '.join(map(str, places))}.")
    return partial(importlib.import_module, written)


def _look_in(place: Path) -> None:
    """Let what stands in a place be imported from there, before what stands in earlier ones.

    Installed modules come first: agents may write to the place, and what is imported later would be
    theirs. Where Python looks there already, because of how it was started, the order stays.
    """
    path = str(place.absolute())
    others = [entry for entry in sys.path if entry not in _added]
    if path in others:
        return
    _added[:] = [path, *(entry for entry in _added if entry != path and entry in sys.path)]
    sys.path[:] = [*others, *_added]


def _module_in(name: str, places: Sequence[Path]) -> tuple[Path, Path] | None:
    """The code of a module that stands in one of the places, as far as Python looks there."""
    top = name.partition(".")[0]
    for place in map(Path.absolute, places):
        spec = PathFinder.find_spec(top, [str(place)]) if str(place) in sys.path else None
        if spec is not None and spec.origin is not None:
            return find_code(f"./{name.replace('.', '/')}", [place])
    return None


def _load(code: Path, root: Path) -> ModuleType:
    """The module of a file or directory, under the name that it has from `root`, if that is free."""
    around = "" if code.parent == root else f"{_load(code.parent, root).__name__}."
    stem = code.stem if code.suffix == ".py" else code.name
    if "." not in stem and _is_at(around + stem, code):
        return importlib.import_module(around + stem)
    digest = hashlib.sha256(os.fsencode(code)).hexdigest()[:12]
    own = f"{around}{stem.replace('.', '_')}_{digest}"
    return sys.modules.get(own) or _load_as(own, code)


def _is_at(name: str, code: Path) -> bool:
    """Whether a name means this very code to Python: it is loaded, or would be."""
    try:
        spec = find_spec(name)
    except ValueError:  # What is loaded does not say where from, as the program itself.
        return False
    return spec is not None and any(map(code.samefile, filter(os.path.exists, _code_of(spec))))


def _code_of(spec: ModuleSpec) -> Iterator[str]:
    if spec.submodule_search_locations is not None:
        yield from spec.submodule_search_locations
    elif spec.origin is not None:
        yield spec.origin


def _load_as(name: str, code: Path) -> ModuleType:
    init = code / "__init__.py"
    inside = [str(code)] if code.is_dir() else None
    if inside and not init.is_file():
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = inside
    else:
        file = init if inside else code
        found = spec_from_file_location(name, file, submodule_search_locations=inside)
        assert found is not None, f"{file} is Python"
        spec = found
    module = sys.modules[name] = module_from_spec(spec)
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
