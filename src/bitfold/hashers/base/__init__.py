"""Base classes of hashers: the public extension point."""
