"""Classes by size: the histogram, and what it says of how many records are unique in a population."""
