"""What stands around a student's code, and all of this package that its processes can read.

A process begins in `inside`. It is a `candidate`, which holds the student's cells, or an `engine`,
which runs their kernels: those that `kernels` lets through, within the `fence`.
Walls: `sandbox` says which there are, `confine` and `container` build them, `visible` is what can
be seen from inside. What leaves: messages (`wire`) of calls (`tape`) and of what a meter saw
(`accesses`).
"""
