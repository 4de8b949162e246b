"""Fuzzing: hostile files, uploads and sequences of index operations, for as long as you like."""
