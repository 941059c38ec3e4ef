#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the programs; needs clang and libbpf-dev, and nothing of the kernel
# that they will run on.  The objects say nothing of where they were compiled,
# so that two builds are the same.
# usage: build.sh [DIRECTORY for the objects]
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
target=$(CDPATH='' cd -- "${1:-$here}" && pwd)
cd "$here"
for source in *.bpf.c; do
    object=$target/${source%.c}.o
    clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 \
        -fdebug-compilation-dir=. -ffile-prefix-map="$here"=. \
        -c "$source" -o "$object.part"
    mv "$object.part" "$object"
done
