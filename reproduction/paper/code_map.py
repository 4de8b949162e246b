"""Where every equation, algorithm, statement, table and figure of the paper is, and its test.

Names are checked by a test, so that the page cannot name code or tests that do not exist.
"""

from __future__ import annotations

from typing import NamedTuple


class MapEntry(NamedTuple):
    """A part of the paper, the code that implements it, and the tests that prove it.

    Parameters
    ----------
    number
        Its number in the paper, as LaTeX prints it.
    subject
        What it is.
    code
        Importable names.
    tests
        Tests as ``file::function``, relative to the folder ``tests``.
    remark
        What differs from the paper.
    """

    number: str
    subject: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    remark: str = ""


_PROTOTYPE = "reproduction/test_prototype.py"

EQUATIONS: list[MapEntry] = [
    MapEntry("Eq. (1)", "spectral hashing, relaxed: smallest eigenvectors of the Laplacian",
             ("bitfold.embedding.LaplacianEigenmaps", "bitfold._linalg.spectral.minimize_trace"),
             ("embedding/test_laplacian.py::test_it_equals_the_dense_computation",
              "_linalg/test_spectral.py::test_the_trivial_eigenvector_is_excluded_among_many_zeros")),
    MapEntry("Eq. (2)–(4)", "induction on all training points: the weighted mean of neighbors",
             ("reproduction.prototype.exact_induction", "reproduction.prototype.induction_weights"),
             (f"{_PROTOTYPE}::test_exact_induction_equals_a_loop",
              f"{_PROTOTYPE}::test_k_weights_sum_to_one")),
    MapEntry("Definition 1", "entropy numbers", ("reproduction.prototype.cover_points",),
             (f"{_PROTOTYPE}::test_cover_bounds_the_entropy_number",),
             "The exact number is NP-hard; a greedy cover bounds it within a factor of two."),
    MapEntry("Eq. (5)", "the prototype algorithm: draws from clusters",
             ("reproduction.prototype.estimate_embedding",),
             (f"{_PROTOTYPE}::test_estimate_is_eq_5_of_its_draws",)),
    MapEntry("Lemma 2", "at most 2m draws", ("reproduction.prototype.estimate_embedding",),
             (f"{_PROTOTYPE}::test_draws_follow_the_allocation",)),
    MapEntry("Lemma 3, Eq. (6)", "mean and variance of the estimate",
             ("reproduction.prototype.estimate_moments", "reproduction.prototype.variance_bound"),
             (f"{_PROTOTYPE}::test_moments_equal_an_enumeration",
              f"{_PROTOTYPE}::test_lemma_3_bound"),
             "The printed proof needs ΣC_j where it has ΣC_j²; the bound holds."),
    MapEntry("Theorem 4, Eq. (7)", "tail bound", ("reproduction.prototype.tail_bound",),
             (f"{_PROTOTYPE}::test_tail_bound_is_chebyshev",)),
    MapEntry("Corollary 5", "number of samples that is sufficient",
             ("reproduction.prototype.sufficient_size",),
             (f"{_PROTOTYPE}::test_corollary_is_the_smallest_even_number",)),
    MapEntry("Sec. III-C", "overall weights, and the weights of cluster centers",
             ("reproduction.overall_weights.overall_weights",
              "reproduction.overall_weights.weigh_clusters"),
             ("reproduction/test_overall_weights.py::"
              "test_overall_weight_is_the_sum_over_all_queries",
              "reproduction/test_overall_weights.py::"
              "test_statement_of_the_paper_holds_for_wide_kernels_only"),
             "That centers have the largest weight holds for wide kernels only."),
    MapEntry("Eq. (8)", "induction from the base set",
             ("bitfold.induction.induce",),
             ("induction/test_induce.py::test_induction_equals_eq_4_on_the_base_set",)),
    MapEntry("Eq. (9)", "the hash function: signs of the induced embedding",
             ("bitfold.hashers.IMH",),
             ("hashers/test_imh.py::test_without_rotation_bits_are_signs_of_the_embedding",)),
    MapEntry("Eq. (10)", "embedding of the training data by normalized weights",
             ("bitfold.embedding.relaxed_laplacian.gaussian_shares", "bitfold.induction.induce"),
             ("induction/test_induce.py::test_one_row_at_a_time_equals_all_at_once",),
             "The sum in the denominator of W̄ is over j; the paper prints i."),
    MapEntry("Sec. III-C, O(dm + rk)", "time to hash a new point: m distances, a mean of k",
             ("bitfold.neighbors.NearestBasePoints", "bitfold.induction.induce"),
             ("reproduction/paper/test_code_map.py::test_a_code_needs_the_k_nearest_embeddings",
              "reproduction/paper/test_code_map.py::test_a_model_does_not_grow_with_the_rows"),
             "Beyond 2,048 base points, inverted lists compare with fewer than m."),
    MapEntry("Sec. III-C, O(dmnl)", "time of K-means, linear in the rows",
             ("bitfold.base_set.KMeansBase",),
             ("base_set/test_base.py::test_sample_size_is_32_rows_per_point_within_memory",),
             "K-means learns from a sample of at most 32 rows per base point, or 65,536, so that "
             "its time does not grow with n; docs/scaling.md has measured times."),
    MapEntry("Sec. III-C, Nyström method", "hash functions of AGH are Nyström eigenfunctions",
             ("bitfold.hashers.AGH",),
             ("hashers/test_agh.py::test_reals_are_eigenvectors_of_the_whole_graph",),
             "The general extension and LELVM are only compared in words: docs/theory/induction.md."
             ),
    MapEntry("Eq. (11)", "t-SNE of the base set",
             ("bitfold.embedding.TSNE", "bitfold.embedding.tsne.kl_divergence"),
             ("embedding/test_stochastic.py::test_gradients_equal_difference_quotients",
              "embedding/test_tsne.py::test_the_divergence_is_as_low_as_that_of_scikit_learn")),
    MapEntry("Eq. (12)–(14)", "hashing with relaxed similarity preservation (IMH-LE)",
             ("bitfold.embedding.RelaxedLaplacian",
              "bitfold.embedding.relaxed_laplacian.data_laplacian"),
             ("embedding/test_relaxed_laplacian.py::test_t_equals_the_dense_computation",
              "embedding/test_relaxed_laplacian.py::test_it_minimizes_the_objective_of_the_paper"),
             "From (12) to (13) the paper drops a factor 2 of the first sum; λ is that of (14)."),
    MapEntry("F1 (Sec. IV)", "hash lookup within Hamming radius 2", ("bitfold.metrics.lookup",),
             ("metrics/test_radius.py::test_lookup_equals_a_count",),
             "From mean precision and mean recall; an empty ball counts as 0, as in the authors' "
             "program."),
    MapEntry("MAP (Sec. IV)", "mean average precision of Hamming ranking",
             ("bitfold.metrics.average_precision",),
             ("metrics/test_ranking.py::test_average_precision_is_the_mean_over_all_orders",),
             "Ties count as the mean over their orders instead of by position."),
]  # fmt: skip
"""Definitions, statements and equations, in the order of the paper."""

ALGORITHMS: list[MapEntry] = [
    MapEntry("Algorithm 1", "Inductive Manifold Hashing",
             ("bitfold.hashers.IMH", "bitfold.hashers.imh.fit_imh"),
             ("hashers/test_imh.py::test_fit_sets_the_state_of_the_pure_function",
              "hashers/test_published.py::test_the_defaults_are_those_of_the_paper")),
    MapEntry("Algorithm 1, step 1", "base set by K-means, K-medians or random sampling",
             ("bitfold.base_set.KMeansBase", "bitfold.base_set.KMedoidsBase",
              "bitfold.base_set.RandomBase"),
             ("base_set/test_kmeans.py::test_centers_are_means_of_their_clusters",
              "base_set/test_kmedoids.py::test_medoids_have_the_least_total_distance")),
    MapEntry("Algorithm 2", "Supervised IMH: a base set per class, and LDA",
             ("bitfold.hashers.SupervisedIMH", "bitfold.subspace.discriminant"),
             ("test_subspace.py::test_the_subspace_is_that_of_scikit_learn",
              "hashers/test_published.py::test_algorithm_2_has_the_same_settings")),
    MapEntry("Sec. V", "rotation that reduces the quantization loss (ITQ)",
             ("bitfold.rotation.itq",),
             ("test_rotation.py::test_one_iteration_is_the_procrustes_solution",)),
    MapEntry("Sec. II-B", "anchor graph hashing", ("bitfold.hashers.AGH",),
             ("hashers/test_agh.py::test_reals_are_eigenvectors_of_the_whole_graph",
              "hashers/test_published.py::test_the_eigenvectors_of_agh_are_the_authors")),
    MapEntry("authors' settings", "IMH, IMHs and AGH configured as in the authors' program",
             ("bitfold.hashers.IMH.as_published", "bitfold.hashers.AGH.as_published"),
             ("hashers/test_published.py::test_tsne_has_the_settings_of_the_authors",
              "hashers/test_published.py::"
              "test_the_bandwidth_is_the_mean_distance_to_the_kth_base_point")),
]  # fmt: skip
"""Algorithms and compared methods with a base set."""

ARTIFACT_TESTS = (
    "reproduction/test_artifacts.py::test_cases_can_be_run",
    "reproduction/report/test_page.py::test_every_artifact_has_a_section",
)
"""Tests of every table and figure."""
