"""The explorer: a web page to look at what was learned (needs ``bitfold[explorer]``).

The path of a request: ``guard`` (who may ask) → ``api`` (what can be asked) → ``collection`` (what
there is: ``items`` and their ``pictures``, each model's ``coded`` items with their ``statistics``
and ``plane``, the ``queries``). ``server`` runs it at a ``place``; the page lies in ``page/``.
"""

from bitfold.explorer.address import Place

__all__ = ["Place"]
