"""DuckDB: files, frames and databases, embedded in the process."""
