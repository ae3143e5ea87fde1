#!/usr/bin/env bash
# Packs what `make python` built as a wheel, build/wheel/*.whl: nothing is compiled again. Libraries other than torch's and pyarrow's are bundled.
# Takes auditwheel, patchelf and wheel on the path.
set -euo pipefail
cd "$(dirname "$0")/.."
site=$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
version=$(sed -n 's/^project(ropewalk VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
tag=$(.venv/bin/python -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
stage=build/wheel/stage
rm -rf build/wheel
mkdir -p "$stage/ropewalk/data" "$stage/ropewalk-$version.dist-info"
cmake --install build --component python --prefix "$stage" --strip >/dev/null
patchelf --set-rpath '$ORIGIN/../torch/lib:$ORIGIN/../pyarrow' "$stage"/ropewalk/_core*.so
cp python/ropewalk/*.py python/ropewalk/*.pyi python/ropewalk/py.typed "$stage/ropewalk/"
cp -r experiments "$stage/ropewalk/"
cp -r data/demo "$stage/ropewalk/data/"
printf 'Wheel-Version: 1.0\nGenerator: ropewalk\nRoot-Is-Purelib: false\nTag: %s-%s-linux_x86_64\n' "$tag" "$tag" >"$stage/ropewalk-$version.dist-info/WHEEL"
printf 'Metadata-Version: 2.1\nName: ropewalk\nVersion: %s\nRequires-Dist: torch>=2.13,<2.14\nRequires-Dist: pyarrow>=26,<27\nRequires-Dist: numpy>=2\nRequires-Dist: pandas>=2.2\n' \
  "$version" >"$stage/ropewalk-$version.dist-info/METADATA"
wheel pack -d build/wheel "$stage"
LD_LIBRARY_PATH="$site/torch/lib:$site/pyarrow" auditwheel repair -w build/wheel/repaired \
  --exclude 'libtorch*' --exclude 'libc10*' --exclude 'libgomp*' --exclude 'libarrow*' --exclude 'libparquet*' build/wheel/*.whl
