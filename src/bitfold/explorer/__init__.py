"""The explorer: a web page that shows what a model learned (needs ``bitfold[explorer]``).

The path of a request: ``guard`` (access control) → ``api`` (routes) → ``workspace`` (``items`` with
their ``images``, each of the ``models`` with its ``statistics`` and ``plane_map``, the
``queries``). ``server`` runs it at an ``address``; the page is in ``page/``.
"""

from bitfold.explorer.address import ListenAddress

__all__ = ["ListenAddress"]
