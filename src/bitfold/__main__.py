"""``python -m bitfold`` is ``bitfold``."""

from bitfold.cli import main

main()
