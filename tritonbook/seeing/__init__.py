"""Seeing what a kernel does: bytes and tiles from the interpreter, registers from the compiler."""
