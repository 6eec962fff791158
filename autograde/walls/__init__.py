"""What stands around a student's code, and all of this package that its processes can read."""
