"""How text files are written, told from the files."""
