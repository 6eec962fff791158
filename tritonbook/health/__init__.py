"""Is this machine fit for the course? `tritonbook doctor` says."""
