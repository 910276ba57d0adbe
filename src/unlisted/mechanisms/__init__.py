"""The survey's mechanisms, one idea a file, each with its proof beside it (same stem, .md)."""
