// Shapes of the responses of the API, for the type checker. The server documents them under /docs.

/** @typedef {{ name: string, start: number, end: number }} CodePart */

/**
 * @typedef {object} ModelInfo
 * @property {string} name
 * @property {string} method
 * @property {number} n_bits
 * @property {number} n_features
 * @property {number} n_items
 * @property {number} n_distinct
 * @property {number} n_base
 * @property {number | null} n_coarse_bits
 * @property {number | null} coarse_weight
 * @property {CodePart[]} parts
 * @property {number} default_radius
 * @property {string} map_from
 */

/** @typedef {{ max_bytes: number, image_features: string | null, draws_vectors: boolean }} UploadInfo */
/** @typedef {{ name: string, type: "bool" | "int" | "float" | "str" | "time" }} ColumnName */

/**
 * @typedef {object} About
 * @property {string} version
 * @property {number} n_items
 * @property {ModelInfo[]} models
 * @property {"image" | "text" | "row"} item_kind
 * @property {ColumnName[]} columns
 * @property {string | null} text_column
 * @property {string | null} label_column
 * @property {string | null} image_column
 * @property {string[]} labels
 * @property {boolean} has_vectors
 * @property {boolean} has_images
 * @property {boolean} has_text
 * @property {boolean} has_labels
 * @property {string} metric
 * @property {UploadInfo} uploads
 * @property {string} first
 * @property {boolean} notebook
 */

/** @typedef {string | number | boolean | null} Value */

/**
 * @typedef {object} Item
 * @property {string} id
 * @property {number} point
 * @property {number} label
 * @property {string | null} text
 * @property {string | null} image
 * @property {Record<string, Value> | null} [values]
 */

/** @typedef {{ distance: number | null, rank: number, hamming?: number | null, code?: string | null }} Placed */
/** @typedef {Item & Placed} Hit */

/**
 * @typedef {object} Group
 * @property {string} code
 * @property {number} hamming
 * @property {number | null} coarse_hamming
 * @property {number | null} fine_hamming
 * @property {number | null} score
 * @property {number} size
 * @property {number} n_tied
 * @property {Hit[]} hits
 */

/**
 * @typedef {object} Query
 * @property {string} key
 * @property {string} title
 * @property {Item | null} item
 * @property {number} label
 * @property {string | null} image
 * @property {[number, number] | null} position
 * @property {string} code
 * @property {number[] | null} embedding
 * @property {boolean} has_vector
 * @property {number} bucket_size
 */

/**
 * @typedef {object} Answer
 * @property {Query} query
 * @property {number} n_bits
 * @property {"embedding" | "hamming"} rank
 * @property {boolean} can_rank_by_embedding
 * @property {number | null} coarse_weight
 * @property {"exact" | "id"} order_inside
 * @property {number} n_searched
 * @property {Group[]} groups
 * @property {number} n_hits
 * @property {string} explanation
 * @property {string | null} tie
 */

/** @typedef {{ code: string, size: number, order_inside: "exact" | "id", hits: Hit[] }} BucketPage */
/** @typedef {{ metric: string, hits: Hit[] }} Exact */
/** @typedef {{ within: number[], alike: number[] | null }} RadiusCounts */
/** @typedef {{ n_found: number, is_complete: boolean, items: Item[] }} Found */
/** @typedef {{ value: Value, count: number, share?: number, share_all?: number }} Category */

/**
 * @typedef {object} Column
 * @property {string} name
 * @property {"bool" | "int" | "float" | "str" | "time"} type
 * @property {number} n_missing
 * @property {number} n_distinct
 * @property {number | string | null} low
 * @property {number | string | null} high
 * @property {Category[] | null} categories
 * @property {boolean} is_text
 */

/** @typedef {{ x: number[], y: number[], labels: number[] }} BasePoints */
/** @typedef {{ n_points: number, base: BasePoints, map_from: string, n_anchors: number, explanation: string }} MapInfo */

/**
 * @typedef {object} Legend
 * @property {string} by
 * @property {"categories" | "numbers"} kind
 * @property {string} title
 * @property {string} explanation
 * @property {{ name: string, count: number }[]} categories
 * @property {number} n_unlisted items of a category that is not listed
 * @property {number} n_other items whose category has no color of its own
 * @property {number} n_missing
 * @property {number} low
 * @property {number} high
 * @property {string} unit
 * @property {boolean} is_integer
 * @property {boolean} is_log
 */

/**
 * @typedef {object} Region
 * @property {number} x
 * @property {number} y
 * @property {number} n_items
 * @property {string | null} name
 * @property {string[]} words
 * @property {number} label
 * @property {number} label_share
 * @property {Item[]} items
 */

/** @typedef {"good" | "fair" | "poor" | "none" | "unknown"} Grade */

/**
 * @typedef {object} Measure
 * @property {string} name
 * @property {string} title
 * @property {number | null} value
 * @property {string} text
 * @property {Grade} grade
 * @property {string} explanation
 * @property {number | null} good_from
 * @property {number | null} poor_below
 * @property {boolean} higher_is_better
 * @property {{ name: string, value: number, text: string }[]} references
 */

/** @typedef {{ low: number, high: number, n_buckets: number, n_items: number }} SizeClass */

/**
 * @typedef {object} Statistics
 * @property {number} n_items
 * @property {number} n_bits
 * @property {number} n_distinct
 * @property {number} entropy
 * @property {number[]} balance
 * @property {number[][]} correlation
 * @property {number[]} bit_entropy
 * @property {SizeClass[]} sizes
 * @property {{ size: number, code: string, items: Item[] }[]} largest
 * @property {{ grade: Grade, text: string }} verdict
 * @property {Measure[]} measures
 * @property {{ n_queries: number, n_items: number, seconds: number } | null} measured_with
 * @property {{ level: "fair" | "bad" | "note", sentence: string }[]} findings
 */

/** @typedef {{ same_label: number | null, exact: number | null }} Quality */
/** @typedef {{ n_same_label: number | null, n_exact: number | null }} QueryQuality */
/** @typedef {{ item: Item, n_common: number, first: QueryQuality, second: QueryQuality }} DifferingQuery */
/** @typedef {{ n_queries: number, k: number, mean_common: number, first: Quality, second: Quality, queries: DifferingQuery[] }} Comparison */

/** @typedef {{ number: number, size: number, representative: Item, items: Hit[] }} DuplicateGroup */
/** @typedef {{ radius: number, default_radius: number, max_radius: number, n_groups: number, n_items: number, n_extra: number, groups: DuplicateGroup[] }} Duplicates */

/**
 * @typedef {object} ColumnSummary
 * @property {string} name
 * @property {string} type
 * @property {Category[] | null} categories
 * @property {number} n_categories
 * @property {number | string | null} low
 * @property {number | string | null} high
 * @property {number | string | null} mean
 * @property {{ edges: number[], counts: number[] } | null} histogram
 */

/** @typedef {{ n_items: number, n_buckets: number, items: Item[], columns: ColumnSummary[], label: ColumnSummary | null }} SelectionSummary */
/** @typedef {{ model: number, polygon: [number, number][] | null, points: number[] | null, where: string | null, find: string | null }} Selection */

export {};
