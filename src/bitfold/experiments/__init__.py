"""Experiments as data: a case says what to run, a record what came out, tables read records."""

from bitfold.experiments.records import Case, Records

__all__ = ["Case", "Records"]
