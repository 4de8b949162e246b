"""The document store of Haystack: its published tests, and those of the retriever."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.integrations.frameworks import require

require("haystack")

from haystack import Document, Pipeline
from haystack.dataclasses import ByteStream
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy, FilterPolicy
from haystack.testing.document_store import DocumentStoreBaseExtendedTests

from bitfold.integrations.haystack import BitfoldDocumentStore, BitfoldEmbeddingRetriever


class TestDocumentStore(DocumentStoreBaseExtendedTests):
    """``DocumentStoreBaseTests``, and the tests of deleting and updating by filters."""

    @pytest.fixture(params=["cosine", "euclidean"])
    def document_store(
        self, tmp_path: Path, request: pytest.FixtureRequest
    ) -> Iterator[BitfoldDocumentStore]:
        store = BitfoldDocumentStore(tmp_path / "s", metric=request.param, keep_vectors="float32")
        yield store
        store.close()

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        """Compare embeddings up to the rounding of float32, and everything else exactly."""
        assert len(received) == len(expected)
        for got, wanted in zip(received, expected, strict=True):
            assert (got.embedding is None) == (wanted.embedding is None)
            if wanted.embedding is not None:
                assert np.allclose(got.embedding, wanted.embedding, rtol=1e-6)
            assert got.to_dict() | {"embedding": 0} == wanted.to_dict() | {"embedding": 0}

    def test_write_documents(self, document_store: BitfoldDocumentStore) -> None:
        documents = [Document(id="1"), Document(id="2", content="text")]
        assert document_store.write_documents(documents) == 2
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents(documents[1:])
        self.assert_documents_are_equal(document_store.filter_documents(), documents)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[BitfoldDocumentStore]:
    store = BitfoldDocumentStore(tmp_path / "s", embedding_dim=3)
    vectors = np.eye(3).tolist()
    store.write_documents(
        [
            Document(id=str(i), content=f"c{i}", embedding=vectors[i], meta={"i": i})
            for i in range(3)
        ]
    )
    yield store
    store.close()


def test_retrieval_ignores_documents_without_embeddings(store: BitfoldDocumentStore) -> None:
    found = store.embedding_retrieval([0.1, 1.0, 0.2], top_k=9)
    assert [document.id for document in found] == ["1", "2", "0"]
    assert found[0].score == pytest.approx(1 / np.linalg.norm([0.1, 1.0, 0.2]), abs=1e-3)
    assert found[0].embedding is None
    store.write_documents([Document(id="x", content="no embedding")])
    assert len(store.embedding_retrieval([0.1, 1.0, 0.2], top_k=9, return_embedding=True)) == 3
    late = {"field": "meta.i", "operator": ">=", "value": 1}
    found = store.embedding_retrieval([1, 0, 0], filters=late, return_embedding=True)
    assert [document.embedding for document in found] == [[0, 1, 0], [0, 0, 1]]


def test_blobs_and_duplicates_in_one_call(store: BitfoldDocumentStore) -> None:
    blob = ByteStream(b"\x00\xff", mime_type="image/png", meta={"a": 1})
    document = Document(id="b", blob=blob)
    assert store.write_documents([Document(id="b"), document], DuplicatePolicy.OVERWRITE) == 2
    assert store.filter_documents({"field": "id", "operator": "==", "value": "b"}) == [document]


def test_a_pipeline_with_the_retriever(store: BitfoldDocumentStore) -> None:
    first = {"field": "meta.i", "operator": "==", "value": 0}
    retriever = BitfoldEmbeddingRetriever(
        store, top_k=1, filters=first, filter_policy=FilterPolicy.MERGE
    )
    pipeline = Pipeline()
    pipeline.add_component("retriever", retriever)
    found = pipeline.run({"retriever": {"query_embedding": [0, 1, 0]}})
    assert [document.id for document in found["retriever"]["documents"]] == ["0"]
    found = asyncio.run(retriever.run_async(query_embedding=[0, 1, 0]))
    assert [document.id for document in found["documents"]] == ["0"]


def test_the_retriever_can_be_written_and_read(store: BitfoldDocumentStore) -> None:
    data = BitfoldEmbeddingRetriever(store, top_k=2).to_dict()
    store.close()
    again = BitfoldEmbeddingRetriever.from_dict(data)
    assert again.to_dict() == data
    assert len(again.run(query_embedding=[0, 1, 0])["documents"]) == 2
    again.document_store.close()
