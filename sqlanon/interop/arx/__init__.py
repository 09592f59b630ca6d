"""Projects of ARX (``.deid``), read into a policy without running any of their Java."""
