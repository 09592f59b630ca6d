"""What an attacker can find in a relation: figures of risk, counted in the database."""
