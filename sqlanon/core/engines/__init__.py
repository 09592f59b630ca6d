"""Database engines: all that talks to a database, with a folder a database."""
