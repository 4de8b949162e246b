"""How good is a code: average precision of Hamming ranking, precision and recall of lookup.

Everything comes from two histograms per query: how many codes lie at each Hamming distance, and
how many of them are relevant. No distance is ever sorted. Codes at the same distance are tied;
measures of a ranking are by default expectations over all orders of each tie (McSherry and
Najork, *Computing information retrieval performance measures efficiently in the presence of tied
scores*, ECIR 2008), so that no ordering of the database can flatter a method. The functions that
end in ``_by_id`` break ties by id instead, as a search does.
"""

from bitfold.metrics.by_id import average_precision_by_id, ranking_curves_by_id
from bitfold.metrics.histograms import DistanceHistograms, distance_histograms, scan_histograms
from bitfold.metrics.mean import map_scorer, mean_average_precision
from bitfold.metrics.neighbors import closest_neighbors, recall_at_k
from bitfold.metrics.radius import Lookup, LookupCurve, lookup, precision_recall_curve
from bitfold.metrics.ranking import (
    RankingCurves,
    average_precision,
    precision_at,
    ranking_curves,
    recall_at,
)
from bitfold.metrics.relevance import Relevance

__all__ = [
    "DistanceHistograms",
    "Lookup",
    "LookupCurve",
    "RankingCurves",
    "Relevance",
    "average_precision",
    "average_precision_by_id",
    "closest_neighbors",
    "distance_histograms",
    "lookup",
    "map_scorer",
    "mean_average_precision",
    "precision_at",
    "precision_recall_curve",
    "ranking_curves",
    "ranking_curves_by_id",
    "recall_at",
    "recall_at_k",
    "scan_histograms",
]
