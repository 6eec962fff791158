"""The workbook's solutions against what a reader could use instead, on one GPU in one run."""
