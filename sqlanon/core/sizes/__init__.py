"""Classes by size: the histogram, and estimates from it of how many records are unique in a population."""
