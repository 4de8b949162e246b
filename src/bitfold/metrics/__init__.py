"""Metrics of retrieval: average precision, precision, recall and F1, curves, ground truth.

Measures of a ranking come from two histograms per query: the number of codes at each Hamming
distance, and the number of relevant codes among them. No distances are sorted. Codes at the same
distance are tied; by default, measures are means over all orders of each tie (McSherry and
Najork, *Computing information retrieval performance measures efficiently in the presence of tied
scores*, ECIR 2008), so the order of the database cannot favor a method. The functions that end in
``_by_id`` break ties by id instead, as a search does.
"""

from bitfold.metrics.embedding_scan import embedding_histograms
from bitfold.metrics.first_hits import all_tied, precision_at_k
from bitfold.metrics.ground_truth import closest_neighbors
from bitfold.metrics.histograms import DistanceHistograms, distance_histograms, scan_histograms
from bitfold.metrics.map_score import map_scorer, mean_average_precision
from bitfold.metrics.radius import Lookup, LookupCurve, lookup, precision_recall_curve
from bitfold.metrics.ranking import (
    RankingCurves,
    average_precision,
    precision_at,
    ranking_curves,
    recall_at,
)
from bitfold.metrics.ranking_by_id import average_precision_by_id, ranking_curves_by_id
from bitfold.metrics.recall import recall_at_k
from bitfold.metrics.relevance import Relevance
from bitfold.metrics.spherical import spherical_histograms
from bitfold.metrics.vector_scan import vector_histograms

__all__ = [
    "DistanceHistograms",
    "Lookup",
    "LookupCurve",
    "RankingCurves",
    "Relevance",
    "all_tied",
    "average_precision",
    "average_precision_by_id",
    "closest_neighbors",
    "distance_histograms",
    "embedding_histograms",
    "lookup",
    "map_scorer",
    "mean_average_precision",
    "precision_at",
    "precision_at_k",
    "precision_recall_curve",
    "ranking_curves",
    "ranking_curves_by_id",
    "recall_at",
    "recall_at_k",
    "scan_histograms",
    "spherical_histograms",
    "vector_histograms",
]
