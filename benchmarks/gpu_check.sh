#!/usr/bin/env bash
# All checks that need a GPU, in less than 8 minutes: `benchmarks/gpu_check.sh [--device cuda] [--quick] [--limit SECONDS]`.
#
# Its JSON goes to the folder $OUT (default: gpu_check). Nothing is installed and nothing is fetched: the packages are
# taken from this checkout by PYTHONPATH. Wheels that the machine lacks may lie in the folder $WHEELS (default: .wheels),
# for its Python and platform: they are unpacked into a temporary folder. For Python 3.12 on x86-64 Linux, say:
#
#     python -m pip download --no-deps --only-binary=:all: --python-version 3.12 --platform manylinux2014_x86_64 \
#         -d .wheels cattrs msgspec
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
wheels=${WHEELS:-.wheels}
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
if compgen -G "$wheels/*.whl" > /dev/null; then
    "$python" -m pip install -q --no-index --no-deps --no-compile --no-cache-dir --target "$site" "$wheels"/*.whl
fi
export PYTHONPATH="plugin:roofline:.:$site${PYTHONPATH:+:$PYTHONPATH}"
# Child processes run elsewhere, too.
PYTHONPATH=$("$python" -c 'import os, sys; print(os.pathsep.join(map(os.path.abspath, os.environ["PYTHONPATH"].split(":"))))')
export PYTHONPATH PYTHONUNBUFFERED=1
"$python" -m benchmarks.gpu_check --out "${OUT:-gpu_check}" "$@"
