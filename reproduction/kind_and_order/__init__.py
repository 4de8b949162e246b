"""The page on the split, the weight and the base set of DualHasher: what is measured, and how."""
