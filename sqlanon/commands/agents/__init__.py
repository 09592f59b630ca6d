"""A server for agents, which speaks the Model Context Protocol: what they may ask, and what the answers contain."""
