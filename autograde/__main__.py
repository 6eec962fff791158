"""`python -m autograde`."""

import sys

from .classroom.cli import main

if __name__ == "__main__":
    sys.exit(main())
