"""What a page holds, read without a browser."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

Json = dict[str, Any]
PACKED = re.compile(r'<script type="application/octet-stream" id="([\w-]+)">([^<]*)</script>')


def packed(page: Path) -> dict[str, Json]:
    """By name: what the page's script unpacks."""
    found = PACKED.findall(page.read_text())
    return {name: json.loads(gzip.decompress(base64.b64decode(data))) for name, data in found}


def details(page: Path) -> Json:
    """Of the only record."""
    (one,) = [value for name, value in packed(page).items() if name.startswith("record-")]
    return one
