"""The supplement's cells: as printed, their first updates, and the variants that programs compute."""
