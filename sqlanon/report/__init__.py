"""What a run leaves in writing: the manifest that travels, and the script for the operator."""
