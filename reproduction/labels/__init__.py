"""The page "Codes from labels": what labels add, also for classes that were not in training."""
