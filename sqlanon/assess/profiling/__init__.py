"""From a table to a draft: what its columns hold, which of them single people out, roles, a policy to start from."""
