"""Audits: what was written, checked by SQL that shares nothing with the compiler."""
