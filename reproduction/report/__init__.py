"""The report: tables, figures and an HTML page, made from records alone."""
