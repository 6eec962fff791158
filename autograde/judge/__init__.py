"""From one exercise to one verdict. Tests, secret and references are here, no student's Python.

`execute` runs an item (`work`): it starts candidate, engine and `checker`, and waits. The checker
runs the cell of the `course` with a proxy (`peer`) in place of the student's function. A call comes
back as `replies`, or as a tape that the `player` plays with a `launcher`, once more without its
kernels (`proof`). What was launched is compiled (`gate`, `compiler`). `lending`: what the course's
cells need of other pages. `turns`: who has the GPU.
"""
