"""The ledger of releases: what was released of a source to whom, and in which class each person was."""
