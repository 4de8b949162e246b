"""``python -m reproduction.theory docs``."""

import sys
from pathlib import Path

from reproduction.theory import pictures

pictures(Path(sys.argv[1]))
