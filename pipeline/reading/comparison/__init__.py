"""Compares the results and dead letters of two warehouses, row by row."""
