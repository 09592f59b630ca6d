"""Tables of counts that are safe to release: cells counted in the database, small ones suppressed, and the proof."""
