#!/usr/bin/env bash
# Makes dist/*.whl out of build/: what is compiled there serves here too. Otherwise this is `pip install .` (pyproject.toml). Then looks the wheel over.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf dist
.venv/bin/python -m pip wheel . --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir dist \
  -C build-dir=build -C cmake.define.ROPEWALK_DEVELOPER=ON -C cmake.define.ROPEWALK_MPI=AUTO
.venv/bin/python tools/check_wheel.py dist/*.whl
