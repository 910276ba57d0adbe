"""Rows to bounded counts, inside the engine that holds the rows."""
