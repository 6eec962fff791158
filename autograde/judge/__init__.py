"""From one exercise to one verdict. Tests, secret and references are here, no student's Python."""
