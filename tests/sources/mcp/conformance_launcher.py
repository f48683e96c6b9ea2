"""What the MCP conformance suite starts as the client: hands its task to the test that waits.

Starting our whole client anew for each of the suite's scenarios would take most of the time.
"""

import json
import os
import socket
import sys

if __name__ == "__main__":
    task = {
        "url": sys.argv[-1],
        "scenario": os.environ["MCP_CONFORMANCE_SCENARIO"],
        "context": json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}")),
    }
    with socket.socket(socket.AF_UNIX) as test:
        test.connect(sys.argv[1])
        test.sendall(json.dumps(task).encode() + b"\n")
        failure = json.loads(test.makefile().readline())
    sys.exit(failure or 0)
