"""The sample distribution on the path, with its metadata, as an installer would leave it."""

import sys
from pathlib import Path

SOURCE = str(Path(__file__).parent / "acme-limen" / "src")
if SOURCE not in sys.path:
    sys.path.append(SOURCE)
