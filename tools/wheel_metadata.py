"""What scikit-build-core asks for: the version, which stands in CMakeLists.txt, and the torch and pyarrow that the wheel is built with."""

import re
from pathlib import Path

import wheel_backend

ROOT = Path(__file__).parents[1]


def dynamic_metadata(_settings, _project):
    version = re.search(r"^project\(ropewalk VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)
    libraries = wheel_backend.libraries()
    torch = ".".join(libraries["torch"].split(".")[:2])
    arrow = libraries["pyarrow"].split(".")[0]
    return {"version": version[1], "dependencies": [f"torch=={torch}.*", f"pyarrow=={arrow}.*"]}
