#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes a release: builds and checks sdist and wheel, writes the notes, tags.
# usage: tools/release.sh VERSION [--dry-run] [--untested] [--output DIR]
# The tag is VERSION, which pbr and reno read; it is made last, and only if
# everything before has passed.  --dry-run makes no tag.  Without --untested,
# tools/test.sh must have passed for this commit (it leaves .tested).
# Two builds in two directories must be identical byte by byte.
set -euo pipefail
cd "$(dirname "$0")/.."
version='' output=dist tag=1 tested=1
fail() {
    echo "tools/release.sh: $*" >&2
    exit 1
}
while [[ $# -gt 0 ]]; do
    case $1 in
        --dry-run) tag='' ;;
        --untested) tested='' ;;
        --output) output=$2; shift ;;
        -*) fail "there is no option $1" ;;
        *) version=$1 ;;
    esac
    shift
done
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+((a|b|rc)[0-9]+)?$ ]] ||
    fail "VERSION='$version' is not a version; give for example 0.1.0"
[[ -z $(git status --porcelain) ]] ||
    fail 'the tree has changes; commit them, or stash them'
! git rev-parse -q --verify "refs/tags/$version" >/dev/null ||
    fail "the tag $version exists already"
commit=$(git rev-parse HEAD)
[[ -z $tested || $(cat .tested 2>/dev/null) == "$commit" ]] ||
    fail "tools/test.sh has not passed for $commit; run it, or give --untested"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
export SOURCE_DATE_EPOCH PYTHONWARNINGS=ignore
step() { echo "release: $*"; }

step 'an environment with build and twine'
python3 -m venv "$scratch/tools"
"$scratch/tools/bin/pip" install -q --disable-pip-version-check build twine
python=$scratch/tools/bin/python

clone() { # directory: the commit with its tag, as whoever releases sees it
    git clone -q . "$1"
    git -C "$1" -c advice.detachedHead=false checkout -q "$commit"
    GIT_COMMITTER_DATE="@$SOURCE_DATE_EPOCH" git -C "$1" \
        -c user.name=nova-rt -c user.email=nova-rt \
        tag -a -m "nova-rt $version" "$version"
}

# setuptools gives the files of an sdist the time of the build.
repack() { # sdist
    local directory
    directory=$(mktemp -d -p "$scratch")
    tar -xzf "$1" -C "$directory"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
        --numeric-owner --mode=u+rw,go+r,go-w -C "$directory" \
        -cf "$directory.tar" "$(ls "$directory")"
    gzip -n9 <"$directory.tar" >"$1"
    rm -r "$directory" "$directory.tar"
}

build() { # directory of the tree
    (cd "$1" && umask 022 && "$python" -m build -o "$1.out" . >"$1.log" 2>&1) || {
        tail -n 40 "$1.log"
        fail 'the build failed'
    }
    repack "$1.out/nova_rt-$version.tar.gz"
}

sums() { (cd "$1" && sha256sum -- *); }

step 'sdist and wheel, twice'
for name in one another/place; do
    mkdir -p "$(dirname "$scratch/$name")"
    clone "$scratch/$name"
    build "$scratch/$name"
done
sums "$scratch/one.out"
diff <(sums "$scratch/one.out") <(sums "$scratch/another/place.out") ||
    fail 'two builds differ'
cp -r "$scratch/one.out" "$scratch/out"

step 'a wheel from an archive without git'
mkdir "$scratch/archive"
git -C "$scratch/one" archive "$version" | tar -x -C "$scratch/archive"
(cd "$scratch/archive" && "$python" -m build --wheel -o "$scratch/archive.out" \
    . >"$scratch/archive.log" 2>&1) || {
    tail -n 40 "$scratch/archive.log"
    fail 'the build from an archive failed'
}
wheel=nova_rt-$version-py3-none-any.whl
[[ -e $scratch/archive.out/$wheel ]] ||
    fail "the archive makes $(ls "$scratch/archive.out")"
# pbr.json names the commit, which an archive does not know.
names() { "$python" -m zipfile -l "$1" | awk 'NR > 1 && $1 !~ "pbr.json" { print $1 }' | sort; }
diff <(names "$scratch/archive.out/$wheel") <(names "$scratch/out/$wheel") ||
    fail 'the wheel from an archive has other files than the wheel from git'

step 'twine check'
"$python" -m twine check --strict "$scratch"/out/*

step 'the wheel, and the sdist, by role'
for file in "$scratch"/out/*.whl "$scratch"/out/*.tar.gz; do
    echo "${file##*/}"
    python3 tools/roles.py "$file" "$version" || fail "${file##*/} is not right"
done

step 'the notes'
(cd "$scratch/one" && "${RENO:-$OLDPWD/.venv/bin/reno}" -q report \
    --version "$version" --no-show-source >"$scratch/out/NOTES-$version.rst")
wc -l <"$scratch/out/NOTES-$version.rst" | sed 's/$/ lines of notes/'

mkdir -p "$output"
cp "$scratch"/out/* "$output"
step "sdist, wheel and notes are in $output"
if [[ -n $tag ]]; then
    git tag -a -m "nova-rt $version" "$version" "$commit"
    step "tagged $version; push the tag to publish"
else
    step "without --dry-run, $commit would be tagged $version now"
fi
