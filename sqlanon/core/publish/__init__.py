"""Write a release, audit what was written, and put it in place."""
