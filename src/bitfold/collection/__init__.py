"""Collections: vectors, their codes, ids and metadata in one folder."""

from bitfold.collection.collection import Collection
from bitfold.collection.contents import CollectionContents
from bitfold.collection.folder import is_collection
from bitfold.collection.hits import CollectionHits
from bitfold.collection.reading import CollectionSummary

__all__ = [
    "Collection",
    "CollectionContents",
    "CollectionHits",
    "CollectionSummary",
    "is_collection",
]
