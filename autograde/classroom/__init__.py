"""A class: what was handed in, what is still to be judged, scores and reports."""
