"""A class: what was handed in, what is still to be judged, scores and reports.

`cli` has the commands. A session (`run`) ingests: `ingest` finds a hand-in (`handins`) and its
answers (`matching`, `cells`). It runs what the `ledger` does not have, on this machine (`runners`)
or on a cluster (`slurm`: a `batch` for each `node`), and records (`record`). Then `report`.
Exams: `exam`, `exam_sheet`, `statement`, `verify`. Stock nbgrader and a sample class: `demo`.
"""
