"""The page's own sources, run by Node: what needs no browser is tested without one."""

import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests._npm import node

__all__ = ["MARKDOWN", "SOURCES", "run_sources"]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "web" / "src"
# As it is shipped: its sources need packages that only a build installs.
MARKDOWN = (ROOT / "src/toolwright/serve/static/assets/markdown.js").as_uri()
# The bundler finds `./visible` by itself, Node wants the whole name of the file.
_WHOLE_NAMES = """
import { registerHooks } from "node:module";
registerHooks({
  resolve: (name, context, next) => next(/^\\.+\\//.test(name) && !/\\.[jt]s$/.test(name) ? `${name}.ts` : name, context),
});
"""
_WITH_GIVEN = """
import { readFileSync } from "node:fs";
const given = JSON.parse(readFileSync(0, "utf8"));
const send = (value) => process.stdout.write(JSON.stringify(value));
"""


def run_sources(script: str, given: Any = None) -> Any:
    """What a module says with `send(…)`; it is handed `given` and may import the page's modules."""
    hooks = f"data:text/javascript,{quote(_WHOLE_NAMES)}"
    done = subprocess.run(
        [node(), "--import", hooks, "--input-type=module", "--eval", _WITH_GIVEN + script],
        cwd=SOURCES,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
