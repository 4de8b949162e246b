"""``python -m bitfold`` is ``bitfold``."""

from bitfold.cli import main

if __name__ == "__main__":
    main()
