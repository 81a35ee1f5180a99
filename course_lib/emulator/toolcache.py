"""What NVIDIA's tools made, kept in the folder that COURSE_TOOL_CACHE names; without it nothing is kept.

The tests set it for their own run: dozens of processes compile the same kernels, and a header of CUDA's C++
library takes most of a second each time.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

VARIABLE = "COURSE_TOOL_CACHE"


def kept(make: Callable[[], Any], *request: object) -> Any:
    """What `make()` returns, which is JSON; `request` is all that it depends on. Errors are not kept."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return make()
    path = Path(folder) / f"{hashlib.sha256(repr(request).encode()).hexdigest()}.json"
    if path.exists():
        return json.loads(path.read_text(encoding="utf-8"))
    made = make()
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=folder, delete=False) as file:
        json.dump(made, file)
    os.replace(file.name, path)  # at once, for others may read
    return made
