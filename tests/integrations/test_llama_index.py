"""The vector store of LlamaIndex, compared with LlamaIndex's own store in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.integrations.frameworks import require

require("llama_index")

from llama_index.core import Document, MockEmbedding, StorageContext, VectorStoreIndex
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    SimpleVectorStore,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

from bitfold.errors import ParameterError
from bitfold.integrations.llama_index import BitfoldNodeStore

VECTORS = np.random.default_rng(0).normal(size=(20, 6)).round(2).tolist()


def make_nodes() -> list[TextNode]:
    return [
        TextNode(
            id_=f"n{i}",
            text=f"text {i}",
            embedding=VECTORS[i],
            metadata={"year": 2000 + i, "kind": "ab"[i % 2], "tags": ["x", f"t{i}"]},
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=f"doc{i % 4}")},
        )
        for i in range(len(VECTORS))
    ]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BitfoldNodeStore]:
    store = BitfoldNodeStore(tmp_path / "s", columns={"year": int}, keep_vectors="float32")
    assert store.add(make_nodes()) == [f"n{i}" for i in range(20)]
    yield store
    store.close()


@pytest.fixture(scope="module")
def oracle() -> SimpleVectorStore:
    oracle = SimpleVectorStore()
    oracle.add(make_nodes())
    return oracle


def ask(k: int = 5, **more: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=VECTORS[7], similarity_top_k=k, **more)


def only(*conditions: tuple[str, FilterOperator, Any], by: str = "and") -> MetadataFilters:
    listed: list[Any] = [MetadataFilter(key=k, operator=o, value=v) for k, o, v in conditions]
    return MetadataFilters(filters=listed, condition=FilterCondition(by))


FILTERS = [
    only(("kind", FilterOperator.EQ, "a")),
    only(("kind", FilterOperator.NE, "a")),
    only(("year", FilterOperator.GT, 2010), ("year", FilterOperator.LTE, 2015)),
    only(("year", FilterOperator.LT, 2002), ("year", FilterOperator.GTE, 2018), by="or"),
    only(("year", FilterOperator.IN, [2003, 2004])),
    only(("kind", FilterOperator.NIN, ["b"])),
    only(("tags", FilterOperator.CONTAINS, "t3")),
    only(("missing", FilterOperator.IS_EMPTY, None)),
    only(("kind", FilterOperator.EQ, "a"), ("year", FilterOperator.LT, 2012), by="not"),
]


@pytest.mark.parametrize("filters", [None, *FILTERS])
def test_results_are_those_of_the_simple_store(
    store: BitfoldNodeStore, oracle: SimpleVectorStore, filters: MetadataFilters | None
) -> None:
    found, expected = store.query(ask(filters=filters)), oracle.query(ask(filters=filters))
    assert found.ids == expected.ids
    assert found.similarities == pytest.approx(expected.similarities, abs=1e-5)


def test_nodes_come_back_as_they_were(store: BitfoldNodeStore) -> None:
    assert isinstance(store, BasePydanticVectorStore)
    found = store.get_nodes(["n3", "n1", "unknown"])
    expected = [make_nodes()[3], make_nodes()[1]]
    for node in expected:
        node.embedding = None
    assert found == expected
    assert [node.text for node in store.query(ask(1)).nodes or []] == ["text 7"]


def test_conditions_in_sql_and_by_ids(store: BitfoldNodeStore) -> None:
    assert sorted(store.query(ask(), where="year >= 2017").ids or []) == ["n17", "n18", "n19"]
    assert store.query(ask(node_ids=["n2"])).ids == ["n2"]
    assert set(store.query(ask(20, doc_ids=["doc1"])).ids or []) == {
        f"n{i}" for i in range(1, 20, 4)
    }


def test_delete(store: BitfoldNodeStore) -> None:
    store.delete("doc1")
    assert len(store.client) == 15
    store.delete_nodes(["n0", "n2"], only(("year", FilterOperator.EQ, 2000)))
    assert len(store.client) == 14
    store.delete_nodes(filters=only(("kind", FilterOperator.EQ, "b")))
    assert {node.metadata["kind"] for node in store.get_nodes()} == {"a"}
    store.clear()
    assert store.query(ask()).ids == []
    store.delete("doc1")


def test_adding_again_replaces(store: BitfoldNodeStore) -> None:
    store.add([TextNode(id_="n7", text="new", embedding=VECTORS[7])])
    assert len(store.client) == 20
    assert [node.text for node in store.query(ask(1)).nodes or []] == ["new"]


def test_marginal_relevance(store: BitfoldNodeStore) -> None:
    store.add([TextNode(id_=f"same{i}", text="same", embedding=VECTORS[7]) for i in range(3)])
    query = ask(3, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.1)
    assert len({node.get_content() for node in store.query(query).nodes or []}) == 3


def test_other_modes_are_errors(store: BitfoldNodeStore) -> None:
    with pytest.raises(ParameterError, match="mode"):
        store.query(ask(mode=VectorStoreQueryMode.SPARSE))


def test_async(store: BitfoldNodeStore) -> None:
    async def run() -> VectorStoreQueryResult:
        await store.async_add([TextNode(id_="late", text="late", embedding=[9.0] * 6)])
        await store.adelete("doc1")
        return await store.aquery(VectorStoreQuery(query_embedding=[1.0] * 6, similarity_top_k=1))

    assert asyncio.run(run()).ids == ["late"]
    assert len(store.client) == 16


def test_an_index_persists_and_is_opened_again(tmp_path: Path) -> None:
    embedding, path = MockEmbedding(embed_dim=8), tmp_path / "index.bitfold"
    store = BitfoldNodeStore(path)
    context = StorageContext.from_defaults(vector_store=store)
    documents = [Document(text=f"about {i}", doc_id=f"d{i}", metadata={"i": i}) for i in range(5)]
    index = VectorStoreIndex.from_documents(
        documents, storage_context=context, embed_model=embedding
    )
    index.storage_context.persist(str(tmp_path / "storage"))
    store.close()
    store = BitfoldNodeStore(path)
    index = VectorStoreIndex.from_vector_store(store, embed_model=embedding)
    found = index.as_retriever(
        similarity_top_k=9, filters=only(("i", FilterOperator.GTE, 3))
    ).retrieve("about")
    assert sorted(hit.text for hit in found) == ["about 3", "about 4"]
    index.delete_ref_doc("d3")
    assert len(store.client) == 4
    store.close()
