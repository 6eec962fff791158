"""What the kernels of record pages need beside Triton: descriptors, Gluon, launches that wait."""
