"""`pytest tests/hygiene` by hand takes the release build."""

import os

import tree

os.environ.setdefault("ROPEWALK_BUILD", str(tree.ROOT / "build"))
os.environ.setdefault("ROPEWALK", f"{os.environ['ROPEWALK_BUILD']}/ropewalk")
