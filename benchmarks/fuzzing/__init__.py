"""The parts of the fuzzer ``benchmarks/fuzz.py``."""
