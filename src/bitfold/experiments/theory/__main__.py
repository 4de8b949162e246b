"""``python -m bitfold.experiments.theory docs``."""

import sys
from pathlib import Path

from bitfold.experiments.theory import pictures

pictures(Path(sys.argv[1]))
