"""Files of every format, a model, its codes and an index."""

from __future__ import annotations

import json
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
import zarr
from pyarrow import parquet
from safetensors.numpy import save_file
from tests.cli.helpers import LABELS, X, to_texmex

import bitfold as bf
from bitfold.hashers import LSH
from bitfold.io import save_codes


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the digits in every format, a model, its codes and an index."""
    folder = tmp_path_factory.mktemp("files")
    np.save(folder / "x.npy", X)
    np.savez(folder / "x.npz", vectors=X, labels=LABELS)
    with h5py.File(folder / "x.h5", "w") as file:
        file.create_dataset("part/vectors", data=X, chunks=(100, 64), compression="gzip")
        file["labels"] = LABELS
    lists = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), 64)
    table = pa.table({"id": range(len(X)), "vectors": lists, "label": LABELS})
    parquet.write_table(table, folder / "x.parquet", row_group_size=500)
    zarr.create_array(folder / "x.zarr", shape=X.shape, chunks=(70, 64), dtype="f4")[:] = X
    named = np.column_stack([LABELS, X])
    header = ",".join(["label", *(f"v{i}" for i in range(64))])
    np.savetxt(folder / "x.csv", named, "%g", ",", header=header, comments="")
    items = ({"label": int(label), "v": row} for label, row in zip(LABELS, X.tolist(), strict=True))
    (folder / "x.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    save_file({"vectors": X, "labels": LABELS}, folder / "x.safetensors")
    (folder / "x.fvecs").write_bytes(to_texmex(X))
    (folder / "x.bvecs").write_bytes(to_texmex(X.astype(np.uint8)))
    (folder / "labels.txt").write_text("\n".join(map(str, LABELS)))
    np.save(folder / "labels.npy", LABELS)
    hasher = LSH(60, random_state=0).fit(X)
    hasher.save(folder / "m.bitfold")
    codes = hasher.encode(X)
    save_codes(codes, folder / "x.codes")
    np.save(folder / "codes.npy", codes.packed)
    index = bf.HammingIndex(60)
    index.add(codes)
    index.save(folder / "my.index")
    return folder
