"""Grading: the nbgrader course, the sample class, and the autograder beside it."""
