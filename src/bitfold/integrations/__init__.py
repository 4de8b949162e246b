"""bitfold in other frameworks, one module per framework, each with an extra of the same name.

==========================  =====================================================================
module                      what it adds
==========================  =====================================================================
``langchain``               a vector store on a collection
``llama_index``             a vector store on a collection
``haystack``                a document store on a collection, and an embedding retriever
``sentence_transformers``   ``quantize_embeddings`` with learned codes, and semantic search
``onnx``                    any hasher as an ONNX graph: vectors in, packed bits out
==========================  =====================================================================

Each module imports its framework, so import the one you need.
"""

__all__ = list[str]()
