"""Kernels compiled for a GPU that need not be there, in another process: this one may be the
interpreter's."""

from tritonbook.seeing.compiled import KernelFacts, compile_gate


def compiled(fn, inputs, arch=90, options=None, ptx=False) -> tuple[KernelFacts, ...]:
    """The kernels that a call launches."""
    found = compile_gate(fn, inputs, options, arch, ptx=ptx)
    assert found.ok, found.message
    return found.kernels
