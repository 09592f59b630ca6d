"""Local recoding: an ordered set of lattice nodes, each record published by the first node whose class passes the
privacy models."""
