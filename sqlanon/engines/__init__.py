"""Database engines: everything that talks to a database, one engine a module."""
