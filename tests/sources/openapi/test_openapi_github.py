"""A very large document is opened at once and takes little room."""

import json
import subprocess
import sys

import pytest
from tests._npm import npm_package

pytestmark = pytest.mark.npm

MEASURE = """
import json, resource, sys
from toolwright.sources import OpenAPIToolset
used = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before = used()
toolset = OpenAPIToolset(sys.argv[1])
toolset.get_tool("repos_list_for_org").spec.parameters
print(json.dumps({"megabytes": used() - before, "tools": len(toolset._tools)}))
"""


def test_githubs_document_opens_in_sixty_megabytes() -> None:
    document = npm_package("@octokit/openapi", "23.0.2") / "generated" / "api.github.com.json"
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(document)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["tools"] > 1200
    assert found["megabytes"] < 60
