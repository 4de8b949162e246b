"""Conditions as text, such as ``year >= 2020 and kind in ('news', 'blog')``.

The text is parsed here, and never becomes part of the SQL, so that no condition can do anything
else than compare.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple, NoReturn

from bitfold import _validation
from bitfold.collection.conditions import (
    COMPARISONS,
    ConditionCompiler,
    SqlCondition,
    join_conditions,
)

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
_MAX_DEPTH = 50


def compile_where(where: Any, compiler: ConditionCompiler) -> SqlCondition:
    """Return a condition, given as text or as a list of tuples, as SQL."""
    if isinstance(where, str):
        return _Parser(where, compiler).parse()
    return compiler.compile(where)


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
        return join_conditions(" OR ", parts)

    def _parse_and(self) -> SqlCondition:
        parts = [self._parse_not()]
        while self._accept("and"):
            parts.append(self._parse_not())
        return join_conditions(" AND ", parts)

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
        if token.kind == "symbol" and token.value in COMPARISONS:
            self._at += 1
            operator = COMPARISONS[token.value]
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
            requirement = "used with a text column and a text pattern"
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
        _validation.raise_invalid("where", _OWNER, f"a valid condition: expected {expected}", place)

    def _show(self, at: int) -> str:
        rest = self._text[at : at + 30].strip()
        return f"{rest!r} at character {at}" if rest else f"the end of {self._text!r:.60}"


def _read_token(kind: str, text: str) -> tuple[str, Any]:
    """Return the kind and the value of a token."""
    if kind == "number":
        # No integer of 64 bits has more digits, and Python does not convert very long ones.
        return kind, int(text) if re.fullmatch(r"[+-]?\d{1,20}", text) else float(text)
    if kind in ("text", "quoted"):
        quote = text[0]
        return kind, text[1:-1].replace(2 * quote, quote)
    if kind == "word" and text.lower() in _KEYWORDS:
        return "keyword", text.lower()
    return kind, text
