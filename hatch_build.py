"""Build hook: project addresses, and a README whose links work outside of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?!\w+://|#)(?P<path>[^)\s]+)\)")


class RepositoryHook(MetadataHookInterface):
    """Set the README and the addresses from ``repository`` in pyproject.toml, the only place."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the fields that depend on the address of the repository."""
        address = self.config.get("repository", "")
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": adapt_links(text, address)}
        metadata["urls"] = list_addresses(address)


def list_addresses(address: str) -> dict[str, str]:
    """Return the links that PyPI shows next to the description; none without an address."""
    if not address:
        return {}
    return {
        "Repository": address,
        "Issues": f"{address}/issues",
        "Changelog": f"{address}/blob/HEAD/CHANGELOG.md",
    }


def adapt_links(text: str, address: str) -> str:
    """Make relative links absolute; without an address, keep their text and omit images."""

    def adapt(link: re.Match[str]) -> str:
        if not address:
            return "" if link["image"] else link["text"]
        view = "raw" if link["image"] else "blob"
        return f"{link['image']}[{link['text']}]({address}/{view}/HEAD/{link['path']})"

    return _LINK.sub(adapt, text)
