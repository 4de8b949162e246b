"""The paper: what it reports, what it claims, and why results may differ."""
