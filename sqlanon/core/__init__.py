"""From a policy to an audited release, in one direction: what every release runs through."""
