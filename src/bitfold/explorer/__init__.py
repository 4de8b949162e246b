"""The explorer: a web page that shows what codes keep and lose (needs ``bitfold[explorer]``).

The path of a request: ``guard`` (access control) → ``routes`` → ``workspace`` (``items`` with their
``item_table``, ``item_vectors`` and ``images``; each model as a ``model_view`` with its
``plane_map``, ``channels``, ``regions``, ``duplicates`` and ``statistics``). ``opening`` reads
collections and files, ``preparation`` computes maps. ``server`` runs it at an ``address``;
``notebook`` shows it inline. The page is in ``page/``.
"""

from bitfold.explorer.address import ListenAddress
from bitfold.explorer.notebook import Explorer, show

__all__ = ["Explorer", "ListenAddress", "show"]
