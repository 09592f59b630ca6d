"""Formats of other tools, and scripts for the engines of others."""
