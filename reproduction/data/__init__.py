"""Data sets of the experiments, including stand-ins for those that cannot be downloaded."""
