"""The reproduction of *Hashing on Nonlinear Manifolds* (Shen et al., IEEE TIP 2015).

It is not installed and uses only public names of bitfold. ``python -m reproduction --help`` lists
the commands.

======================  ==========================================================================
``artifacts.py``        every table and figure of the paper: the cases it needs, how it is presented
``case_lists.py``       the cases of each table and figure
``columns.py``          the two columns: the authors' settings, and the defaults of bitfold
``protocol.py``         how much is run: seeds, queries, or a quick version
``paper/``              what the paper reports and states, targets, and where its parts are in code
``data/``               the data sets, and the stand-ins for those that cannot be downloaded
``experiments/``        the methods, and what is measured in one case
``records.py``          cases, and the records of finished runs
``runner.py``           list and run artifacts, and write the report
``command.py``          the command line
``report/``             tables, figures and the HTML page, from records alone
``pages/``              generated pages of the documentation: gallery, comparison, published results
``which_code/``         the page "Which code should I use?": measurements, charts, tables
``labels/``             the page "Codes from labels", also for classes that were not in training
``theory/``             figures of the theory pages
``demo/``               the demo: a table in the terminal and an HTML page
``prototype.py``        the prototype algorithm of Sec. III-B, with its error bounds
``overall_weights.py``  which points represent all others best (Sec. III-C)
======================  ==========================================================================
"""
