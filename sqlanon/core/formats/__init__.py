"""What a file format is, and what reads and writes one under watch."""
