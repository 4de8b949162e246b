"""Hooks of MkDocs: include programs and commands, render equations, reject outside resources."""

from __future__ import annotations

import html
import logging
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from textwrap import indent
from typing import Any

log = logging.getLogger("mkdocs.hooks.bitfold")

MADE_LATER = {
    "published.md": "make compare",
    "which-code.md": "make which-code",
    "report/index.html": "python -m reproduction all --out docs/report",
}
"""Pages that a long run writes, and its command; the navigation omits missing ones."""

COMMANDS_MARK = "<!-- commands -->"
"""Comment that is replaced by the commands; elsewhere than on the site it is not visible."""

_EQUATION = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
_PROGRAM = re.compile(r"^\[(examples/[\w/]+\.py)\]\((?:\.\./)+\1\)$", re.MULTILINE)
_ROLE = re.compile(r":(?:attr|class|func|meth|mod):(?=<code>)")
_FETCHED = re.compile(
    r'<(?:script|img|iframe|source)\b[^>]*\bsrc="(https?:)?//|'
    r'<link\b[^>]*\brel="(?:stylesheet|preconnect|icon)"[^>]*\bhref="(https?:)?//|'
    r'<link\b[^>]*\bhref="(https?:)?//[^>]*\brel="(?:stylesheet|preconnect|icon)"'
)


def on_config(config: Any) -> Any:
    """Omit missing pages from the navigation, and link to the repository if it has an address."""
    docs = Path(config.docs_dir)
    project = tomllib.loads((docs.parent / "pyproject.toml").read_text("utf-8"))
    config.repo_url = project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"] or None
    absent = {page for page in MADE_LATER if not (docs / page).exists()}
    for page in sorted(absent):
        log.info("%s is missing; %s writes it.", page, MADE_LATER[page])
    config.nav = _without(config.nav, absent)
    return config


def _without(nav: list[Any], absent: set[str]) -> list[Any]:
    kept: list[Any] = []
    for entry in nav:
        ((title, value),) = entry.items() if isinstance(entry, dict) else ((None, entry),)
        if isinstance(value, list):
            kept.append({title: _without(value, absent)})
        elif value not in absent:
            kept.append(entry)
    return kept


def on_files(files: Any, config: Any) -> Any:
    """Include the notebooks, and a math font, which roots need and few systems have."""
    from mkdocs.structure.files import File

    (package,) = find_spec("ziamath").submodule_search_locations
    font = Path(package) / "fonts" / "STIXTwoMath-Regular.ttf"
    files.append(File.generated(config, "stylesheets/math.ttf", abs_src_path=str(font)))
    for path in sorted((Path(config.docs_dir).parent / "notebooks").glob("*.ipynb")):
        files.append(File.generated(config, f"notebooks/{path.name}", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, config: Any, **_: Any) -> str:
    """Include what is outside of the documents: linked programs, and the commands."""
    if COMMANDS_MARK in markdown:
        markdown = markdown.replace(COMMANDS_MARK, _list_commands())
    root = Path(config.docs_dir).parent

    def shown(found: re.Match[str]) -> str:
        source = (root / found[1]).read_text("utf-8")
        block = f"```python\n{source}```"
        return f'??? example "{found[1]}"\n\n{indent(block, "    ")}'

    return _PROGRAM.sub(shown, markdown).replace("](../notebooks/", "](notebooks/")


def _list_commands() -> str:
    """Return all commands with their arguments and options, from their own help."""
    # Imported here because one page needs it.
    from bitfold.cli._app import COMMANDS, load_command
    from bitfold.cli._errors import describe_exit_codes

    parts = []
    for panel, names in COMMANDS.items():
        parts.append(f"## {panel}")
        parts += [_describe_command(f"bitfold {name}", load_command(name)) for name in names]
    return "\n\n".join([*parts, "## Exit codes", describe_exit_codes()])


def _describe_command(name: str, command: Any) -> str:
    """Return the help of a command as Markdown."""
    text, _, example = command.help.partition("Example: ")
    context = command.make_context(name, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.get_params(context)]
    rows = [f"| `{names}` | {_escape(meaning)} |" for names, meaning in records]
    table = "\n".join(["| argument or option | meaning |", "| --- | --- |", *rows])
    parts = [f"### {name}", _escape(text.strip()), f"```console\n{example.strip()}\n```", table]
    if command.epilog:
        title, *entries = command.epilog.split("\n\n")
        lines = "\n".join(f"- {_escape(entry)}" for entry in entries)
        parts.append(f'??? note "{title.rstrip(":")}"\n\n{indent(lines, "    ")}')
    return "\n\n".join(parts)


def _escape(text: str) -> str:
    """Escape what is markup in Markdown."""
    return re.sub(r"([\\`*_|\[\]])", r"\\\1", html.escape(text, quote=False))


def on_page_content(content: str, **_: Any) -> str:
    """Convert equations to MathML, which browsers can draw, and Sphinx roles to code."""
    return _ROLE.sub("", _EQUATION.sub(_mathml, content))


def _mathml(found: re.Match[str]) -> str:
    # Imported here because pytest, which collects this file, runs without the docs extra.
    from latex2mathml.converter import convert

    display = "block" if found["tag"] == "div" else "inline"
    return str(convert(html.unescape(found["tex"]).strip(), display=display))


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Warn about resources from other hosts; a warning fails a strict build."""
    if found := _FETCHED.search(output):
        log.warning("%s loads a resource from another host: %s", page.file.src_path, found[0])
    return output
