"""The API of a running explorer: correct responses, and clear errors."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import zlib
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from PIL import Image
from tests.cli.helpers import Run
from tests.explorer.conftest import COMMAND, N_ITEMS, Server

import bitfold as bf
from bitfold.explorer.queries import MAX_UPLOAD_BYTES
from bitfold.metrics import closest_neighbors


def ask(client: httpx.Client, path: str, **parameters: Any) -> Any:
    response = client.get(f"/api/{path}", params=parameters)
    assert response.status_code == 200, response.text
    return response.json()


def npy(array: Any) -> bytes:
    out = BytesIO()
    np.save(out, array, allow_pickle=True)
    return out.getvalue()


def png(side: int, value: int = 0) -> bytes:
    out = BytesIO()
    Image.new("L", (side, side), value).save(out, "PNG")
    return out.getvalue()


def bomb(side: int) -> bytes:
    """Return a PNG of a few bytes whose header claims side × side pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        body = kind + data
        return len(data).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")

    header = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    idat = zlib.compress(bytes(100_000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", idat) + chunk(b"IEND", b"")
    )


def flatten(found: dict[str, Any]) -> list[str]:
    """Return the ids of all hits of a search, in their order."""
    return [hit["id"] for group in found["groups"] for hit in group["hits"]]


def test_about_describes_models_and_items(client: httpx.Client) -> None:
    about = ask(client, "about")
    assert [model["name"] for model in about["models"]] == ["long", "short"]
    assert about["n_items"] == N_ITEMS
    assert about["labels"] == [str(digit) for digit in range(10)]
    assert about["has_vectors"] and about["has_images"] and about["has_text"]
    assert about["uploads"]["image_features"] == "pixels × 16 / 255"
    assert (about["item_kind"], about["notebook"]) == ("image", False)
    assert [column["name"] for column in ask(client, "columns")] == ["text", "label"]


@pytest.mark.parametrize("model", [0, 1])
def test_search_groups_what_the_index_finds(client: httpx.Client, digits: Path, model: int) -> None:
    index = bf.HammingIndex.open(digits / f"{('long', 'short')[model]}.index")
    near = index.within(index.codes([17]), 32)
    wanted = dict(zip(near.ids.tolist(), near.distances.tolist(), strict=True))
    del wanted[17]
    found = ask(client, "search", query="item:17", model=model, rank="hamming", k=40)
    assert found["order_inside"] == "exact" and found["rank"] == "hamming"
    assert found["query"]["code"] == index.codes([17]).packed.tobytes().hex()
    distances = [group["hamming"] for group in found["groups"]]
    assert distances == sorted(distances)
    for group in found["groups"]:
        ids = [int(hit["id"]) for hit in group["hits"]]
        assert {wanted[item] for item in ids} == {group["hamming"]}
        code = bytes.fromhex(group["code"])
        assert all(row.tobytes() == code for row in index.codes(ids).packed)
        lengths = [hit["distance"] for hit in group["hits"]]
        assert lengths == sorted(lengths)
        assert group["n_tied"] == list(wanted.values()).count(group["hamming"])
    assert [hit["rank"] for group in found["groups"] for hit in group["hits"]] == [*range(1, 41)]


def test_asymmetric_search_is_that_of_the_index(client: httpx.Client, digits: Path) -> None:
    index, hasher = bf.HammingIndex.open(digits / "long.index"), bf.load(digits / "long.bitfold")
    X = np.load(digits / "vectors.npy")
    hits = index.search(hasher.encode(X[[17]]), 30, query_embedding=hasher.embed(X[[17]]))
    found = ask(client, "search", query="item:17", k=29, per_group=29)
    scores = [group["score"] for group in found["groups"] for _ in group["hits"]]
    assert found["rank"] == "embedding" and scores == sorted(scores)
    np.testing.assert_allclose(scores, hits.distances[0][1:], rtol=1e-4, atol=1e-5)


def test_a_bucket_is_paged(client: httpx.Client) -> None:
    found = ask(client, "search", query="item:17", model=1, per_group=2)
    group = max(found["groups"], key=lambda each: each["size"])
    pages = [
        ask(client, "bucket", query="item:17", model=1, code=group["code"], offset=at, limit=3)
        for at in range(0, group["size"], 3)
    ]
    ids = [hit["id"] for page in pages for hit in page["hits"]]
    assert len(set(ids)) == len(ids) == group["size"] == pages[0]["size"]
    assert ids[:2] == [hit["id"] for hit in group["hits"]]


def test_exact_equals_closest_neighbors(client: httpx.Client, digits: Path) -> None:
    X = np.load(digits / "vectors.npy")
    wanted = closest_neighbors(X, X[[17]], k=11)[0]
    hits = ask(client, "exact", query="item:17")["hits"]
    assert [int(hit["id"]) for hit in hits] == [i for i in wanted.tolist() if i != 17]
    lengths = np.linalg.norm(X[wanted[1:]] - X[17], axis=1)
    np.testing.assert_allclose([hit["distance"] for hit in hits], lengths, rtol=1e-6)
    filtered = ask(client, "exact", query="item:17", where="label = 3")["hits"]
    labels = np.load(digits / "labels.npy")
    assert all(labels[int(hit["id"])] == 3 for hit in filtered) and len(filtered) == 10


def test_counts_within_each_radius(client: httpx.Client, digits: Path) -> None:
    index, labels = bf.HammingIndex.open(digits / "long.index"), np.load(digits / "labels.npy")
    spread = ask(client, "radius-counts", query="item:3")
    for radius in (0, 2, 7, 32):
        near = index.within(index.codes([3]), radius).ids
        others = near[near != 3]
        assert spread["within"][radius] == len(others)
        assert spread["alike"][radius] == np.count_nonzero(labels[others] == labels[3])
        within = ask(client, "within", query="item:3", radius=radius, limit=1000)
        assert within["count"] == len(others)
        assert [int(hit["id"]) for hit in within["hits"]] == others.tolist()


def array(client: httpx.Client, path: str, dtype: Any, **parameters: Any) -> np.ndarray:
    response = client.get(f"/api/{path}", params=parameters)
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/octet-stream"
    return np.frombuffer(response.content, dtype)


def test_map_has_the_base_set_and_all_items(client: httpx.Client, digits: Path) -> None:
    about, labels = ask(client, "models/0/map"), np.load(digits / "labels.npy")
    assert about["n_points"] == N_ITEMS and len(about["base"]["x"]) == 60
    points = array(client, "models/0/points", "<u2").reshape(-1, 2) / 65535
    colors = array(client, "models/0/colors", "<u2", by="label")
    item = ask(client, "items/5")
    assert colors[5] == item["label"] == labels[int(item["id"])]
    # Most neighbors on the map have the same label.
    near = closest_neighbors(points, points, k=6)[:, 1:]
    assert np.mean(colors[near] == colors[:, None]) > 0.75
    assert array(client, "models/0/density", "<f4").shape == (256 * 256,)
    assert ask(client, "models/0/regions")[0]["items"][0]["image"].startswith("/api/items/")


def test_arrays_are_sent_once(client: httpx.Client) -> None:
    first = client.get("/api/models/0/points")
    again = client.get("/api/models/0/points", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    others = [client.get("/api/models/0/colors", params={"by": f"bit:{bit}"}) for bit in (0, 1)]
    assert len({each.headers["etag"] for each in (first, *others)}) == 3


def test_filters(client: httpx.Client, digits: Path) -> None:
    labels = np.load(digits / "labels.npy")
    found = ask(client, "items", where="label = 4", find="<b>4", limit=3)
    assert found["n_found"] == np.count_nonzero(labels == 4) and found["is_complete"]
    assert [item["values"]["label"] for item in found["items"]] == [4, 4, 4]
    mask = array(client, "matches", np.uint8, where="label = 4")
    assert mask.sum() == found["n_found"] and mask[found["items"][0]["point"]] == 1
    assert ask(client, "random", where="label = 4")["values"]["label"] == 4
    assert client.get("/api/random", params={"where": "label = 44"}).status_code == 404
    near = ask(client, "search", query="item:17", where="label = 4", k=20)
    assert near["n_searched"] == found["n_found"] - (labels[17] == 4)
    assert all(labels[int(item)] == 4 for item in flatten(near))


def test_selections_and_files(client: httpx.Client) -> None:
    wanted = {"where": "label = 4", "model": 1}
    selected = client.post("/api/selection", json=wanted).json()
    assert selected["label"]["categories"][0] == {
        "value": "4", "count": selected["n_items"], "share": 1.0,
        "share_all": selected["n_items"] / N_ITEMS,
    }  # fmt: skip
    points = client.post("/api/selection/points", json=wanted).content
    assert len(np.frombuffer(points, "<u4")) == selected["n_items"]
    file = client.post("/api/selection/export", params={"format": "ids"}, json=wanted)
    assert file.headers["content-disposition"] == 'attachment; filename="selection.txt"'
    assert len(file.text.splitlines()) == selected["n_items"]
    for content in (b'{"find": "\\ud800"}', b"{"):
        invalid = client.post("/api/selection", content=content)
        assert invalid.status_code == 422 and "JSON" in invalid.json()["error"]


def test_duplicates_and_their_file(client: httpx.Client) -> None:
    found = ask(client, "models/0/duplicates", radius=1, limit=2, per_group=3)
    first = found["groups"][0]
    assert first["items"][0]["id"] == first["representative"]["id"]
    assert found["n_extra"] == found["n_items"] - found["n_groups"]
    group = ask(client, "models/0/duplicates/0", radius=1, limit=200)
    assert group["size"] == first["size"] == len(group["items"])
    other = group["items"][1]["id"]
    body = {"radius": 1.0, "discard": [first["representative"]["id"]], "keep": [other]}
    lines = client.post("/api/models/0/duplicates/export", json=body).text.splitlines()
    assert lines[0] == "group,id,hamming,keep" and len(lines) == found["n_items"] + 1
    assert lines[1].endswith(",0") and lines[2] == f"0,{other},{group['items'][1]['hamming']},1"
    ids = client.post("/api/models/0/duplicates/export", json={**body, "format": "ids"}).text
    assert len(ids.splitlines()) == found["n_extra"]


def test_models_are_compared_and_judged(client: httpx.Client) -> None:
    compared = ask(client, "compare", limit=3)
    assert len(compared["queries"]) == 3 and compared["mean_common"] < 10
    judged = [ask(client, f"models/{model}/statistics")["verdict"] for model in (0, 1)]
    assert all(verdict["grade"] in ("good", "fair", "poor") for verdict in judged)
    assert "index.search" in ask(client, "python", query="item:17")["code"]


def test_base_point_as_query(client: httpx.Client) -> None:
    found = ask(client, "search", query="base:0:5")
    assert found["n_hits"] == 30 and found["query"]["title"] == "base point 5"
    drawn = ask(client, "models/0/map")["base"]
    assert found["query"]["position"] == pytest.approx([drawn["x"][5], drawn["y"][5]], abs=0.2)
    assert Image.open(BytesIO(client.get(found["query"]["image"]).content)).size == (8, 8)


def test_uploaded_image_finds_itself(client: httpx.Client, digits: Path) -> None:
    content = (digits / "images" / "17.png").read_bytes()
    taken = client.post("/api/uploads", content=content).json()
    assert taken["n_features"] == 64
    found = ask(client, "search", query=taken["key"], k=100)
    item = ask(client, "search", query="item:17")
    assert found["query"]["code"] == item["query"]["code"]
    assert found["query"]["position"] == pytest.approx(item["query"]["position"], abs=0.1)
    assert ask(client, "exact", query=taken["key"], k=1)["hits"][0]["id"] == "17"
    assert client.get(taken["image"]).headers["content-type"] == "image/png"


@pytest.mark.parametrize("form", ["npy", "text", "json"])
def test_uploaded_vector_finds_itself(client: httpx.Client, digits: Path, form: str) -> None:
    row = np.load(digits / "vectors.npy")[17]
    text = ", ".join(map(str, row.tolist()))
    content = {"npy": npy(row), "text": text.encode(), "json": f"[{text}]\n".encode()}[form]
    taken = client.post("/api/uploads", content=content).json()
    assert ask(client, "exact", query=taken["key"], k=1)["hits"][0]["id"] == "17"


HOSTILE: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b"", 422, "empty"),
    "junk": (b"\x00\xff" * 50, 422, "BMP, GIF, JPEG, PNG or WEBP"),
    "prose": (b"hello there", 422, "is not a number"),
    "NaN": (b" ".join([b"nan"] * 64), 422, "vector of the upload must be finite, got NaN"),
    "too short": (b"1 2 3", 422, "64 numbers, got 3"),
    "matrix": (npy(np.ones((2, 64))), 422, "one vector of real numbers"),
    "infinite": (npy(np.full(64, np.inf)), 422, "vector of the upload must be finite"),
    "complex": (npy(np.ones(64, complex)), 422, "one vector of real numbers"),
    "pickle": (npy(np.array([{}] * 64)), 422, ".npy file is truncated"),
    "cut npy": (npy(np.ones(64))[:-9], 422, ".npy file is truncated"),
    "lying npy": (
        npy(np.ones(64)).replace(b"(64,)", b"(9999999999999,)", 1),
        422,
        ".npy file is truncated",
    ),
    "cut png": (png(300, 9)[:90], 422, "truncated or damaged"),
    "bomb": (bomb(8000), 422, "50 million pixels, got 8000 × 8000"),
    "larger bomb": (bomb(30000), 422, "50 million pixels"),
    "svg": (b"<svg xmlns='http://www.w3.org/2000/svg'/>", 422, "is not a number"),
    "too long": (b"1" * (MAX_UPLOAD_BYTES + 1), 413, "16 MiB"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_invalid_upload_is_explained(client: httpx.Client, name: str) -> None:
    content, status, part = HOSTILE[name]
    response = client.post("/api/uploads", content=content)
    assert response.status_code == status
    assert part in response.json()["error"]
    assert response.json()["error"].endswith(".")


WRONG = {
    "search?query=item:600": (404, "600"),
    "search?query=item:": (422, "item:…"),
    "search?query=item:9999999999999999999": (404, "does not exist"),
    "search?query=code:zz": (422, "code:…"),
    "search?query=code:00": (422, "8 hexadecimal digits"),
    "search?query=item:1&coarse_weight=2": (422, "no coarse part"),
    "search?query=item:1&where=year>": (422, "where"),
    "search?query=item:1&where=nothing=1": (422, "column in where"),
    "models/0/colors?by=column:none": (422, "column"),
    "models/0/legend?by=distance": (422, "query"),
    "models/0/duplicates/9999": (404, "Group 9999"),
    "items/600": (404, "Point 600"),
    "search?query=item:-1": (404, "-1"),
    "search?query=base:0:60": (404, "Model 0 has no base point 60."),
    "search?query=upload:00": (404, "expired"),
    "models/0/base/-6347345/image": (404, "no base point"),
    "models/0/base/-1/image": (404, "no base point"),
    "search?query=../../etc/passwd": (422, "item:…"),
    "search?query=item:1&k=0": (422, "k should be greater than or equal to 1, got 0."),
    "search?query=item:1&k=201": (422, "k should be less than or equal to 200, got 201."),
    "search?query=item:1&model=2": (404, "Model 2"),
    "search": (422, "query"),
    "items/1/../../../etc/passwd": (404, "This address does not exist."),
    "items/..%2f..%2fetc%2fpasswd/image": (404, "This address does not exist."),
    "items/601/image": (404, "Point 601"),
    "uploads/..%2f..%2fx/image": (404, "This address does not exist."),
    "nothing": (404, "This address does not exist."),
}


@pytest.mark.parametrize("path", WRONG)
def test_invalid_request_is_explained(client: httpx.Client, path: str) -> None:
    response = client.get(f"/api/{path}")
    status, part = WRONG[path]
    assert response.status_code == status and part in response.json()["error"]


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py"]
)
def test_files_outside_the_page_are_not_served(
    client: httpx.Client, server: Server, path: str
) -> None:
    with socket.create_connection(("127.0.0.1", int(server.origin.rsplit(":", 1)[1]))) as wire:
        # Over a raw socket, because an HTTP client would normalize the path.
        wire.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode()
        )
        answer = b"".join(iter(lambda: wire.recv(1 << 16), b""))
    assert b" 404 " in answer.split(b"\r\n", 1)[0] or b" 403 " in answer.split(b"\r\n", 1)[0]
    assert b"create_app" not in answer


def test_docs_describe_the_routes_without_outside_resources(client: httpx.Client) -> None:
    described = client.get("/openapi.json").json()
    assert {"/api/search", "/api/exact", "/api/uploads", "/api/models/{model}/points"} <= set(
        described["paths"]
    )
    assert "://" not in client.get("/docs").text


def test_concurrent_requests_of_all_kinds(client: httpx.Client, digits: Path) -> None:
    content = (digits / "images" / "3.png").read_bytes()
    kinds = [
        lambda i: client.get("/api/search", params={"query": f"item:{i}"}),
        lambda i: client.get("/api/exact", params={"query": f"item:{i}"}),
        lambda i: client.get(f"/api/items/{i}/image"),
        lambda i: client.get("/api/models/1/map"),
        lambda i: client.post("/api/uploads", content=content),
    ]
    with ThreadPoolExecutor(100) as pool:
        answers = list(pool.map(lambda i: kinds[i % len(kinds)](i).status_code, range(300)))
    assert answers == [200] * 300


def test_codes_alone(bare: Server) -> None:
    with httpx.Client(base_url=bare.origin, headers=bare.headers) as asking:
        drawn = ask(asking, "models/0/map")
        assert drawn["n_points"] == N_ITEMS and not drawn["base"]["x"]
        found = ask(asking, "search", query="item:0")
        assert found["n_hits"] == 30 and found["query"]["position"] is not None
        assert (found["rank"], found["order_inside"]) == ("hamming", "id")
        assert ask(asking, "about")["uploads"]["image_features"] is None
        assert asking.get("/api/exact", params={"query": "item:0"}).status_code == 404
        image = asking.post("/api/uploads", content=png(8))
        assert "Upload a vector" in image.json()["error"]


MODEL = ["long.index", "--model", "long.bitfold"]
REJECTED = {
    "no model": (["long.index"], "got 1 indexes and 0 models"),
    "two models": (
        [*MODEL, "--model", "short.bitfold"],
        "1 indexes and 2 models",
    ),
    "no index": (["none.index", "--model", "long.bitfold"], "'none.index' does not exist."),
    "no images": ([*MODEL, "--images", "none"], "none is neither a column nor a file"),
    "wrong model": (["long.index", "--model", "short.bitfold"], "32 bits"),
    "port": ([*MODEL, "--port", "{port}"], "Address already in use"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_invalid_arguments_are_explained(
    digits: Path, server: Server, warm: Run, name: str
) -> None:
    arguments, part = REJECTED[name]
    port = server.origin.rsplit(":", 1)[1]
    line = ["explore", *(argument.format(port=port) for argument in arguments)]
    ended = warm(*line, within=digits, variables={"COLUMNS": "200"})
    assert ended.returncode in (1, 2, 3)
    assert ended.stdout == "" and ended.stderr.count("\n") == 1
    assert part in ended.stderr


def test_missing_extra_names_the_install_command(digits: Path, tmp_path: Path) -> None:
    (tmp_path / "fastapi.py").write_text("raise ImportError", encoding="utf-8")
    ended = subprocess.run(
        [COMMAND, "explore", *MODEL],
        cwd=digits,
        capture_output=True,
        encoding="utf-8",
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert ended.returncode == 1
    assert 'pip install "bitfold[explorer]"' in ended.stderr and ended.stderr.count("\n") == 1


def test_another_method_names_those_that_are_allowed(client: httpx.Client) -> None:
    response = client.request("TRACE", "/api/uploads")
    assert (response.status_code, response.headers["allow"]) == (405, "POST")


def test_images_are_described_as_images(client: httpx.Client) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    for path, operations in paths.items():
        if path.endswith("/image"):
            assert list(operations["get"]["responses"]["200"]["content"]) == ["image/png"]


def test_the_documented_pattern_matches_the_keys_that_are_accepted(client: httpx.Client) -> None:
    parameters = client.get("/openapi.json").json()["paths"]["/api/search"]["get"]["parameters"]
    pattern = next(each["schema"]["pattern"] for each in parameters if each["name"] == "query")
    for key in ("item:17", "item:-1", "base:0:3", "upload:0f", "item:", "0", "base:1", "item:1x"):
        status = client.get("/api/search", params={"query": key}).status_code
        assert (status == 422) is (re.search(pattern, key) is None)
