"""Nodes of the generalization lattice, and the catalog: frozen facts about an encoded source."""
