"""Tables of a lakehouse that releases are published to: Delta and Iceberg."""
