#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the programs; needs clang and libbpf-dev, and nothing of the kernel
# that they will run on.
# usage: build.sh [DIRECTORY for the objects]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=${1:-$here}
for source in "$here"/*.bpf.c; do
    object=$target/$(basename "$source" .c).o
    clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 \
        -c "$source" -o "$object.part"
    mv "$object.part" "$object"
done
