"""`python -m autograde`."""

from .cli import main

if __name__ == "__main__":
    main()
