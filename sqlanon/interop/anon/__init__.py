"""Documents of other tools and for other tools: the ANON definition, and its conversion from and to a policy."""
