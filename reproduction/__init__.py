"""Experiments as data: a case says what to run, a record what came out, tables read records."""

from reproduction.records import Case, Records

__all__ = ["Case", "Records"]
