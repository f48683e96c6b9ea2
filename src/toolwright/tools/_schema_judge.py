"""Hold one value to a schema as a program of its own, which can be ended. Imports nothing of this library.

The validator works in one go, holding the interpreter: nothing else would run until it is done.
"""

import itertools
import json
import sys
from contextlib import suppress
from typing import Any

_MEMORY = 2 * 1024 * 1024 * 1024


def _limit(seconds: int) -> None:
    """Whoever has started this may be gone before it is done."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415 - not on every system

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _faults(asked: dict[str, Any]) -> list[Any]:
    import jsonschema_rs  # noqa: PLC0415 - where it is, is known only now

    options = jsonschema_rs.FancyRegexOptions(**asked["options"])
    validator = jsonschema_rs.validator_for(asked["schema"], pattern_options=options)
    return [
        [
            fault.message,
            fault.instance_path,
            fault.schema_path,
            list(getattr(fault.kind, "types", None) or ()),
        ]
        for fault in itertools.islice(validator.iter_errors(asked["value"]), asked["most"])
    ]


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    _limit(int(sys.argv[2]))
    sys.stdout.write(json.dumps(_faults(json.loads(sys.stdin.buffer.read()))))
