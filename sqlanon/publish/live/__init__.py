"""Live views: classes are counted on every read, over frozen levels and lookups."""
