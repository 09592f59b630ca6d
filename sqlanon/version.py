"""The version of the package, and where its documentation is."""

VERSION = "0.2.0"
DOCUMENTATION = "https://github.com/sqlanon/sqlanon/tree/main/docs"
