"""nbgrader's settings for the course folder that this file lies in.

Copy it into any course folder: every path follows from where the file is. Each setting that differs
from nbgrader's default says which failure it prevents.
"""

import os
import secrets
from pathlib import Path
from typing import Any

from autograde.classroom import bolt

c = get_config()  # type: ignore[name-defined]  # noqa: F821  (nbgrader defines it)
HERE = Path(__file__).resolve().parent

c.CourseDirectory.course_id = "triton-workbook"
# Absolute: a relative root makes formgrader warn, and breaks commands run from elsewhere.
c.CourseDirectory.root = str(HERE)
# Stock nbgrader follows links in what students hand in, to whatever the instructor can read.
c.ExchangeFactory.collect = "autograde.classroom.collect.Collect"
# Formgrader's "Autograde" would run a student's code as you; so it runs `autograde grade`.
bolt.replace()

# The line that a gap keeps (`pass`, or an error that names the function) stands below each region
# in the source notebooks: nbgrader's own stub, a `raise`, does not compile in a Triton kernel.
c.ClearSolutions.code_stub = {"python": "# YOUR CODE HERE"}

# A check stops its own endless loops and says so on its card; these limits are for what it cannot
# stop. The measurements between the checks earn nothing, so they get less.
CHECK_SECONDS = int(os.environ.get("WORKBOOK_CHECK_SECONDS", "180"))
OTHER_SECONDS = int(os.environ.get("WORKBOOK_CELL_SECONDS", "60"))


def seconds_for(cell: dict[str, Any] | None) -> int:
    """The time limit of one cell: nbclient asks before it runs the cell."""
    graded = cell is not None and cell.get("metadata", {}).get("nbgrader", {}).get("grade")
    return CHECK_SECONDS if graded else OTHER_SECONDS


c.Execute.timeout = CHECK_SECONDS
c.Execute.timeout_func = seconds_for
c.Execute.startup_timeout = 120
# The rest of a notebook is still graded after a cell that ran too long.
c.Execute.interrupt_on_timeout = True
# A kernel has nothing to save: the polite way of ending one waits for seconds, each notebook.
c.Execute.shutdown_kernel = "immediate"
# By default a student's cell tag `skip-execution` skips the tests, and a skipped test earns full
# points. A tag that nobody can guess closes that.
c.Execute.skip_cells_with_tag = secrets.token_hex(16)
# Checks that a student deleted come back; otherwise their points stay open for ever.
c.OverwriteCells.add_missing_cells = True
