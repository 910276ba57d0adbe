"""DuckDB, embedded: files, its own databases, and data frames."""
