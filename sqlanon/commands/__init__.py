"""The commands of the command line, a module each; `sqlanon.cli` gathers them."""
