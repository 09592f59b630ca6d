"""What a run leaves in writing: the manifest that travels; the script and the report for the operator."""
