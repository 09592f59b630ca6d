"""SQLite files, through the standard library."""
