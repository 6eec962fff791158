"""The course: its exercises, your progress through them, and your own kernels for later ones."""
