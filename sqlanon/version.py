"""The version of the package, and where its documentation is."""

VERSION = "0.1.0"
DOCUMENTATION = "https://github.com/sqlanon/sqlanon/tree/main/docs"
