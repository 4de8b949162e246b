"""The vector store of LangChain: its published standard tests, and what they leave out."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.integrations.frameworks import require

require("langchain")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import VectorStoreIntegrationTests

import bitfold as bf
from bitfold.errors import DataError, ParameterError, ParameterTypeError
from bitfold.integrations.langchain import BitfoldVectorStore

FRUIT = ["apple", "pear", "plum", "fig", "cherry", "quince"]


class TestStandard(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[BitfoldVectorStore]:
        store = BitfoldVectorStore(self.get_embeddings(), tmp_path / "store.bitfold")
        yield store
        store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BitfoldVectorStore]:
    metadata = [{"year": 2000 + i, "tags": [name]} for i, name in enumerate(FRUIT)]
    embedding = DeterministicFakeEmbedding(size=24)
    store = BitfoldVectorStore.from_texts(
        FRUIT, embedding, metadata, ids=FRUIT, path=tmp_path / "f", columns={"year": int}
    )
    yield store
    store.close()


def contents(documents: list[Document]) -> list[str]:
    return [document.page_content for document in documents]


def test_filters(store: BitfoldVectorStore) -> None:
    assert contents(store.similarity_search("fig", filter={"year": 2001})) == ["pear"]
    assert contents(store.similarity_search("fig", filter={"year": 1})) == []
    by_tag = store.similarity_search("fig", filter=lambda d: "plum" in d.metadata["tags"])
    assert contents(by_tag) == ["plum"]
    late = store.similarity_search("fig", k=9, where="year >= 2003")
    assert set(contents(late)) == {"fig", "cherry", "quince"}
    both = store.similarity_search("fig", where="year < 2003", filter={"tags": ["pear"]})
    assert contents(both) == ["pear"]
    with pytest.raises(ParameterTypeError, match="filter"):
        store.similarity_search("fig", filter=3)
    with pytest.raises(ParameterError, match="where"):
        store.similarity_search("fig", where="month = 3")


def test_scores_are_distances_and_relevance_is_their_opposite(store: BitfoldVectorStore) -> None:
    scored = store.similarity_search_with_score("fig", k=6)
    distances = [distance for _, distance in scored]
    assert scored[0][0].id == "fig"
    assert distances[0] == pytest.approx(0, abs=1e-3)
    assert distances == sorted(distances)
    relevant = store.similarity_search_with_relevance_scores("fig", k=1)
    assert relevant[0][1] == pytest.approx(1, abs=1e-3)


def test_marginal_relevance_prefers_different_documents(store: BitfoldVectorStore) -> None:
    store.add_texts(["fig"] * 3, ids=["fig2", "fig3", "fig4"])
    assert contents(store.similarity_search("fig", k=3)) == ["fig"] * 3
    different = contents(store.max_marginal_relevance_search("fig", k=3, lambda_mult=0.1))
    assert len(set(different)) == 3
    assert different[0] == "fig"


def test_a_store_can_be_opened_again(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=8)
    for number in range(2):
        store = BitfoldVectorStore(embedding, tmp_path / "s")
        store.add_documents([Document("x", id=str(number), metadata={"deep": {"n": number}})])
        store.close()
    store = BitfoldVectorStore(embedding, tmp_path / "s")
    assert [d.metadata["deep"]["n"] for d in store.get_by_ids(["1", "0"])] == [1, 0]
    assert store.delete()
    assert len(store.collection) == 0
    store.close()


def test_a_retriever_and_async_filters(store: BitfoldVectorStore) -> None:
    retriever = store.as_retriever(search_kwargs={"k": 1, "where": "year = 2005"})
    assert contents(asyncio.run(retriever.ainvoke("fig"))) == ["quince"]


def test_many_documents_are_searched_by_codes(tmp_path: Path) -> None:
    store = BitfoldVectorStore(DeterministicFakeEmbedding(size=64), tmp_path / "s")
    store.add_texts([f"text {i}" for i in range(1200)], ids=[f"{i}" for i in range(1200)])
    assert store.collection.n_bits == 64
    assert [d.id for d in store.similarity_search("text 700", k=1)] == ["700"]
    store.close()


def test_what_cannot_be_stored(store: BitfoldVectorStore) -> None:
    with pytest.raises(ParameterError, match="ids of BitfoldVectorStore"):
        store.add_texts(["a", "b"], ids=["a"])
    with pytest.raises(DataError, match="metadata of 'a'"):
        store.add_texts(["a"], [{"when": object()}], ids=["a"])
    with pytest.raises(ParameterError, match="year"):
        store.add_texts(["a"], [{"year": "last"}], ids=["fig"])
    # The one that was to be replaced is still there.
    assert contents(store.get_by_ids(["fig"])) == ["fig"]
    assert len(store.collection) == len(FRUIT)


def test_a_store_opens_only_its_own_collections(tmp_path: Path) -> None:
    bf.Collection.create(tmp_path / "c", [[1.0]]).close()
    with pytest.raises(DataError, match="not made by this store"):
        BitfoldVectorStore(DeterministicFakeEmbedding(size=8), tmp_path / "c")
    with pytest.raises(ParameterError, match="without 'text'"):
        BitfoldVectorStore(
            DeterministicFakeEmbedding(size=8), tmp_path / "d", columns={"text": str}
        )
