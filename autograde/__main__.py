"""`autograde`, and `python -m autograde`."""

from __future__ import annotations

import gc
import os


def main() -> None:
    gc.set_threshold(100_000)  # what is imported stays: no need to look through it for garbage
    # Torch is loaded when something is run, and not taken apart at the end: seconds of work each.
    os.environ["TRITONBOOK_LATER"] = "1"
    from tritonbook.command import leave

    from .classroom import cli

    leave(cli.main())


if __name__ == "__main__":
    main()
