"""The supplement's cells: as printed, their scales, first updates and costs."""
