"""Conditions on metadata: text such as ``year >= 2020 and kind in ('news', 'blog')``.

The text is parsed here and becomes SQL in which every value is a parameter and every name is one
of a known column, so that no condition can do anything else than compare.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple, NoReturn

from bitfold import _validation
from bitfold.stores.conditions import Condition, parse_conditions

_OWNER = "search"

_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<word>[^\W\d]\w*)
    |(?P<symbol><=|>=|<>|!=|==|[=<>(),])
    )""",
    re.VERBOSE,
)

_KEYWORDS = {"and", "or", "not", "in", "is", "null", "like", "between", "true", "false"}
_COMPARISONS = {
    "=": "=",
    "==": "=",
    "!=": "!=",
    "<>": "!=",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
}
_MAX_DEPTH = 50


class SqlCondition(NamedTuple):
    """An expression of SQL with placeholders, and the values for them."""

    sql: str
    values: list[Any]


class ConditionCompiler(NamedTuple):
    """Compiles conditions on the columns of one collection.

    Parameters
    ----------
    types
        Types of the columns by name; ``id`` is among them.
    sql_names
        What the columns are called in SQL.
    """

    types: Mapping[str, type]
    sql_names: Mapping[str, str]

    def compile(self, where: Any) -> SqlCondition:
        """Return a condition, given as text or as a list of tuples, as SQL."""
        if isinstance(where, str):
            return _Parser(where, self).parse()
        groups = parse_conditions(where, _OWNER)
        if not groups:
            return SqlCondition("1", [])
        return _join(" OR ", [_join(" AND ", list(map(self._compile_tuple, g))) for g in groups])

    def _compile_tuple(self, condition: Condition) -> SqlCondition:
        column, operator, value = condition
        if operator in _COMPARISONS:
            return self.compare(column, _COMPARISONS[operator], value)
        return self.is_in(column, value, negated=operator == "not in")

    def compare(self, column: str, operator: str, value: Any) -> SqlCondition:
        """Return a comparison of a column with a value."""
        return SqlCondition(f"{self.name(column)} {operator} ?", [self.convert(column, value)])

    def is_in(self, column: str, values: list[Any], *, negated: bool) -> SqlCondition:
        """Return a test whether a column has one of some values."""
        converted = [self.convert(column, value) for value in values]
        marks, word = ", ".join("?" * len(values)), "NOT IN" if negated else "IN"
        return SqlCondition(f"{self.name(column)} {word} ({marks})", converted)

    def name(self, column: str) -> str:
        """Return what a column is called in SQL; raise if it is unknown."""
        if column not in self.types:
            known = ", ".join(map(repr, self.types))
            _validation.raise_invalid("column in where", _OWNER, f"one of {known}", repr(column))
        return self.sql_names[column]

    def convert(self, column: str, value: Any) -> Any:
        """Return a value as SQLite stores it in a column; raise if it has another type."""
        self.name(column)
        kind = self.types[column]
        convert, requirement = _CONVERSIONS[kind]
        converted = convert(value)
        if converted is None:
            name = f"value of {column!r} in where"
            _validation.raise_invalid(name, _OWNER, requirement, repr(value))
        return converted


def _to_number(value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and abs(value) < 1 << 63 else None


def _to_boolean(value: Any) -> Any:
    return int(value) if value in (True, False) and not isinstance(value, str) else None


def _to_text(value: Any) -> Any:
    return value if isinstance(value, str) and "\0" not in value and _is_unicode(value) else None


def _is_unicode(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _to_time(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value if isinstance(value, str) else value.isoformat())
    except (AttributeError, ValueError):
        return None
    return format_time(moment)


def format_time(moment: datetime) -> str:
    """Return a time as text of one form, so that texts compare as times do."""
    zoned = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return zoned.isoformat(timespec="microseconds")


_CONVERSIONS: dict[type, tuple[Callable[[Any], Any], str]] = {
    bool: (_to_boolean, "true or false"),
    int: (_to_number, "a number"),
    float: (_to_number, "a number"),
    str: (_to_text, "text in single quotes"),
    datetime: (_to_time, "a time such as '2024-01-31' or '2024-01-31T12:00:00+00:00'"),
}


def _join(word: str, parts: list[SqlCondition]) -> SqlCondition:
    if len(parts) == 1:
        return parts[0]
    sql = word.join(f"({part.sql})" for part in parts)
    return SqlCondition(sql, [value for part in parts for value in part.values])


class _Token(NamedTuple):
    kind: str
    value: Any
    start: int


class _Parser:
    """Parses a text by recursive descent, one method per rule of the grammar."""

    def __init__(self, text: str, compiler: ConditionCompiler) -> None:
        self._text = text
        self._compiler = compiler
        self._tokens = self._tokenize()
        self._at = 0
        self._depth = 0

    def parse(self) -> SqlCondition:
        condition = self._parse_or()
        if self._peek().kind != "end":
            self._fail("and, or, or the end of the condition")
        return condition

    def _tokenize(self) -> list[_Token]:
        tokens, at, end = [], 0, len(self._text.rstrip())
        while at < end:
            match = _TOKEN.match(self._text, at)
            if match is None:
                _validation.raise_invalid(
                    "where", _OWNER, 'a condition such as "year >= 2020"', self._show(at)
                )
            kind, start = str(match.lastgroup), match.start(str(match.lastgroup))
            tokens.append(_Token(*_read_token(kind, match[kind]), start))
            at = match.end()
        return [*tokens, _Token("end", None, end)]

    def _parse_or(self) -> SqlCondition:
        parts = [self._parse_and()]
        while self._accept("or"):
            parts.append(self._parse_and())
        return _join(" OR ", parts)

    def _parse_and(self) -> SqlCondition:
        parts = [self._parse_not()]
        while self._accept("and"):
            parts.append(self._parse_not())
        return _join(" AND ", parts)

    def _parse_not(self) -> SqlCondition:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            _validation.raise_invalid("where", _OWNER, f"nested at most {_MAX_DEPTH} deep", "more")
        if self._accept("not"):
            inner = self._parse_not()
            condition = SqlCondition(f"NOT ({inner.sql})", inner.values)
        elif self._accept("("):
            condition = self._parse_or()
            self._expect(")")
        else:
            condition = self._parse_comparison()
        self._depth -= 1
        return condition

    def _parse_comparison(self) -> SqlCondition:
        column = self._parse_column()
        name, token = self._compiler.name(column), self._peek()
        if token.kind == "symbol" and token.value in _COMPARISONS:
            self._at += 1
            operator = _COMPARISONS[token.value]
            return self._compiler.compare(column, operator, self._parse_value())
        if self._accept("is"):
            word = "IS NOT NULL" if self._accept("not") else "IS NULL"
            self._expect("null")
            return SqlCondition(f"{name} {word}", [])
        negated = self._accept("not")
        if self._accept("in"):
            return self._compiler.is_in(column, self._parse_list(), negated=negated)
        if self._accept("like"):
            return self._parse_like(column, "NOT LIKE" if negated else "LIKE")
        if self._accept("between"):
            low = self._compiler.convert(column, self._parse_value())
            self._expect("and")
            high = self._compiler.convert(column, self._parse_value())
            word = "NOT BETWEEN" if negated else "BETWEEN"
            return SqlCondition(f"{name} {word} ? AND ?", [low, high])
        if self._compiler.types[column] is bool and not negated:
            return SqlCondition(f"{name} = 1", [])
        return self._fail("a comparison such as = or <")

    def _parse_like(self, column: str, word: str) -> SqlCondition:
        value = self._parse_value()
        if self._compiler.types[column] is not str or not isinstance(value, str):
            requirement = "used with a column and a pattern of text"
            _validation.raise_invalid("like in where", _OWNER, requirement, self._text)
        pattern = self._compiler.convert(column, value)
        return SqlCondition(f"{self._compiler.name(column)} {word} ?", [pattern])

    def _parse_column(self) -> str:
        token = self._peek()
        if token.kind not in ("word", "quoted"):
            return self._fail("the name of a column")
        self._at += 1
        return str(token.value)

    def _parse_list(self) -> list[Any]:
        self._expect("(")
        values = [self._parse_value()]
        while self._accept(","):
            values.append(self._parse_value())
        self._expect(")")
        return values

    def _parse_value(self) -> Any:
        token = self._peek()
        if token.kind in ("number", "text"):
            self._at += 1
            return token.value
        if self._accept("true"):
            return True
        if self._accept("false"):
            return False
        return self._fail("a number, a text in single quotes, true or false")

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _accept(self, word: str) -> bool:
        token = self._peek()
        found = token.kind in ("keyword", "symbol") and token.value == word
        self._at += found
        return found

    def _expect(self, word: str) -> None:
        if not self._accept(word):
            self._fail(repr(word))

    def _fail(self, expected: str) -> NoReturn:
        place = self._show(self._peek().start)
        _validation.raise_invalid("where", _OWNER, f"a condition with {expected} there", place)

    def _show(self, at: int) -> str:
        rest = self._text[at : at + 30].strip()
        return f"{rest!r} at character {at}" if rest else f"the end of {self._text!r:.60}"


def _read_token(kind: str, text: str) -> tuple[str, Any]:
    """Return the kind and the value of a token."""
    if kind == "number":
        return kind, int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    if kind in ("text", "quoted"):
        quote = text[0]
        return kind, text[1:-1].replace(2 * quote, quote)
    if kind == "word" and text.lower() in _KEYWORDS:
        return "keyword", text.lower()
    return kind, text
