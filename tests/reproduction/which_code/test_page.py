"""The page and the README's table, and that both are up to date."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from reproduction.records import Case, RunRecords
from reproduction.which_code.page import (
    END,
    START,
    make_page,
    run_which_code,
    write_page,
    write_readme_table,
    write_which_code,
)
from tests.reproduction.conftest import RunCommand
from tests.reproduction.which_code.records import make_records

from bitfold.errors import FormatError
from reproduction.which_code import contenders

ROOT = Path(__file__).parents[3]


def test_page_has_a_chart_and_a_table_per_data_set(tmp_path: Path) -> None:
    path = write_which_code(make_records(("text", "mnist")), tmp_path)
    text = path.read_text(encoding="utf-8")
    for data in ("text", "mnist"):
        assert f"(images/which-code/{data}.png)" in text
        assert (tmp_path / "images" / "which-code" / f"{data}.png").is_file()
    assert text.count("| exact vectors | 1,024 |") == 2
    assert "CIFAR-10" not in text
    title = "MNIST: 58,979 images of 256 numbers, 500 held-out queries (mean of 2 seeds)"
    assert f"<summary>{title}</summary>\n\n| code |" in text
    assert text.count("|\n\n</details>\n") == text.count("<details ") == 2


def test_page_answers_by_job() -> None:
    text = make_page(make_records(n_seeds=1))
    titles = [line.removeprefix("### ") for line in text.splitlines() if line.startswith("### ")]
    assert [title.split()[1] for title in titles] == ["have", "need", "want", "have"]
    assert "(one seed)" in text


def test_readme_table_is_replaced(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{START}\nold\n{END}\nafter\n", encoding="utf-8")
    assert write_readme_table(make_records(), readme)
    first = readme.read_text(encoding="utf-8")
    assert write_readme_table(make_records(), readme)
    assert readme.read_text(encoding="utf-8") == first
    assert first.startswith(f"before\n{START}\nDebian descriptions: 58,979 ")
    assert first.endswith(f"{END}\nafter\n")
    assert "old" not in first
    assert "| `DualHasher(128)`, asymmetric | 16 | 16.5 |" in first


def test_readme_without_records_is_left_alone(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("text", encoding="utf-8")
    assert not write_readme_table(make_records(("mnist",)), readme)
    with pytest.raises(FormatError, match="which-code: start"):
        write_readme_table(make_records(), readme)
    assert readme.read_text(encoding="utf-8") == "text"


def test_recorded_cases_are_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case("digits", "LSH", 128, n_queries=40, measure=contenders.MEASURE)
    first = run_which_code(tmp_path, [case])
    assert first[0]["result"]["rankings"]["Hamming"]["precision_10"] > 50
    monkeypatch.setattr("reproduction.which_code.measure.make_encoder", None)
    assert run_which_code(tmp_path, [case]) == first


def test_command_writes_page_and_table(
    run_command: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = RunRecords(tmp_path / "which-code.jsonl")
    for record in make_records():
        records.add(Case.from_record(record), record["result"])
    # Nothing is missing, so nothing runs.
    kept = [c for c in contenders.list_cases(("text",), 2) if c in records]
    monkeypatch.setattr(contenders, "list_cases", lambda data, n_seeds: kept)
    readme = shutil.copy(ROOT / "README.md", tmp_path)
    done = run_command("which-code", str(tmp_path), "--data", "text", "--readme", str(readme))
    assert (done.code, done.stderr) == (0, "")
    assert (tmp_path / "which-code.md").is_file()
    assert "| `DualHasher(128)`, Hamming |" in Path(readme).read_text(encoding="utf-8")
    wrong = run_command("which-code", str(tmp_path), "--data", "sift")
    assert wrong.code == 2
    assert "'sift'" in wrong.stderr


def test_page_of_the_docs_is_up_to_date(tmp_path: Path) -> None:
    path = write_page(RunRecords(ROOT / "docs" / "which-code.jsonl"), tmp_path)
    assert path.read_text("utf-8") == (ROOT / "docs" / "which-code.md").read_text("utf-8")


def test_readme_is_up_to_date(tmp_path: Path) -> None:
    readme = Path(shutil.copy(ROOT / "README.md", tmp_path))
    assert write_readme_table(RunRecords(ROOT / "docs" / "which-code.jsonl"), readme)
    assert readme.read_text("utf-8") == (ROOT / "README.md").read_text("utf-8")
