"""Text of the pages that compare all methods."""

HEAD = """# All methods side by side

{conclusions}

![{alt}]({chart}#only-light)
![{alt}]({dark_chart}#only-dark)

Methods that cannot have codes of {n_bits} bits are shown with their longest ones.{without_times}
[Ten curved sheets](comparison-manifolds.md) compares the same methods on data of a known shape,
[Which code should I use?](which-code.md) compares codes by their size, with other measures of
quality, and [Codes from labels](labels.md) leaves classes out of training.
"""

WITHOUT_TIMES = " Methods without a point have no time yet."

METHOD = """## How this was measured

- MAP is the mean average precision of Hamming ranking, the mean over all orders of ties. F1 is that
  of lookup within Hamming radius 2. An item is relevant if it has the label of the query.
- One seed, 2 cores, and default settings except as named. In IMH, the number of base points depends
  on the data. IMH-… and AGH have the paper's 400 base points, its graph and 5 nearest base points.
- Names are those of the classes in `bitfold.hashers`, except for those of the paper: IMH-LE is
  `IMH(embedding="le")`, `-ITQ` means `rotation="itq"`, AGH-2 is `AGH(n_layers=2)`, CCA-ITQ is
  `CCAITQ`, and IMHs is `SupervisedIMH`.
- The last {n_labeled} methods of the tables learn from labels. They are also run at {n_bits} bits,
  the most that IMHs can have with ten classes. SDH and FSDH start from the same codes of the
  classes, which usually stay with the default settings, so that both learn the same.
- Several defaults were chosen by MAP on MNIST with these same queries (those of IMH, AGH, LLH, KSH,
  BRE, SSH and RMMH), so that their results on MNIST are somewhat optimistic.
- A dash is a length that a method cannot have.
{untimed}
`make compare` measures what is missing in `docs/compare.jsonl`, and writes this page and that of
the [curved sheets](comparison-manifolds.md).
"""

UNTIMED = """- In the tables of times, a dash is also a run on a busy machine, whose times mean
  nothing. `python -m reproduction comparison docs --times` measures them again. It concerns
  {methods}.
"""

MANIFOLDS_HEAD = """# All methods on curved sheets

Ten classes, one curved sheet each, which bend through the same part of space: neither hyperplanes
nor balls separate them, but nearest neighbors do. The more dimensions the space has, the farther
apart they are. These methods have the highest MAP with codes of {n_bits} bits, or with their
longest codes if they cannot have as many:

{table}
[All methods side by side](comparison.md) has the same tables for MNIST, and says
[how they were measured](comparison.md#how-this-was-measured).
"""
