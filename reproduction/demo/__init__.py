"""The demo: the methods on handwritten digits, as a table and a page of pictures."""
