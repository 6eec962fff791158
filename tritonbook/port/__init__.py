"""What differs between versions of Triton, the interpreter's mends, launch hooks; why, for each."""
