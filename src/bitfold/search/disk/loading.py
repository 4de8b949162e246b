"""Open the segments that a manifest lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from bitfold.errors import FormatError
from bitfold.search.disk.manifest import FileEntry, Manifest, ManifestStore, SegmentEntry
from bitfold.search.disk.segment_file import DeletedFile, StoredSegment


def load_segments(
    path: Path, store: ManifestStore, may_write: Callable[[], bool]
) -> tuple[Manifest, list[StoredSegment]]:
    """Open the listed files; try again if a writer has removed one in the meantime."""
    manifest = store.read()
    while True:
        try:
            segments = [
                _open_segment(path, manifest.n_bits, entry, may_write)
                for entry in manifest.segments
            ]
            return manifest, segments
        except FileNotFoundError as error:
            previous, manifest = manifest, store.read()
            if manifest == previous:
                missing = Path(error.filename).name
                raise FormatError(f"{path} is damaged: {missing} is missing.") from None


def _open_segment(
    path: Path, n_bits: int, entry: SegmentEntry, may_write: Callable[[], bool]
) -> StoredSegment:
    for file in filter(None, entry):
        n_bytes = (path / file.file).stat().st_size
        if n_bytes != file.n_bytes:
            raise FormatError(
                f"{path / file.file} is damaged: it has {n_bytes} bytes instead of {file.n_bytes}."
            )
    stored = StoredSegment(path / entry.segment.file, n_bits, may_write)
    if entry.deleted:
        stored.marks = DeletedFile(path / entry.deleted.file, stored.n_items)
    if describe_segment(stored) != entry:
        raise FormatError(f"{stored.file.path} is damaged: it is not the file in the manifest.")
    return stored


def describe_segment(stored: StoredSegment) -> SegmentEntry:
    """Return the entry of a segment in the manifest."""
    body, *marks = map(FileEntry.of, stored.files)
    return SegmentEntry(body, marks[0] if marks else None)


def list_files(stored: list[StoredSegment]) -> set[str]:
    """Return the names of the files of some segments."""
    return {file.path.name for segment in stored for file in segment.files}
