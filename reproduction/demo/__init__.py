"""The demo: methods on handwritten digits, as a table in the terminal and an HTML page."""
