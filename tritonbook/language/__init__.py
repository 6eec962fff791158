"""What a kernel may say in Triton's language, and what it means: for check and grader."""
