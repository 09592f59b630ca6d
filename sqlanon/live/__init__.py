"""Views that follow their source: what they rest on, their epochs, their renewal."""
