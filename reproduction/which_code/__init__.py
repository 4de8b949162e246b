"""The page "Which code should I use?": what is measured, and the page, charts and README table."""
