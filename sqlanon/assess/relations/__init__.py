"""What is asked of a relation as it stands: its risk, and whether it meets privacy models."""
