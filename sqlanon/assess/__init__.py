"""What a relation or a release reveals, and what it is good for."""
