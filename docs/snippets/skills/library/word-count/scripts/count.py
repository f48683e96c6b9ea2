"""Print how many words the files on the command line have."""

import sys
from pathlib import Path

print(sum(len(Path(name).read_text().split()) for name in sys.argv[1:]))
