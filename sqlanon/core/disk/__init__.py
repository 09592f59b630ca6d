"""What is written to disk: private folders with a lock, the permissions of files, and files that appear as a whole."""
