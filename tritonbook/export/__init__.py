"""A function of a notebook, with all that it needs, as the text of one file."""
