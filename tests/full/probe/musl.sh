#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds a Python of Debian's sources with musl, for the cell "podman, musl";
# needs gcc, make, xz and about five minutes.  The system stays as it is.
# usage: musl.sh DIRECTORY
set -eu
mkdir -p "$1"
target=$(CDPATH='' cd -- "$1" && pwd)
build=$target/build
mkdir -p "$build/lists/partial" "$build/cache/archives/partial"
cd "$build"

sources() {
    apt-get -qq -o Dir::Etc::SourceList="$build/sources.list" \
        -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$build/lists" \
        -o Dir::Cache="$build/cache" -o APT::Sandbox::User=root "$@"
}

suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
mirror=$(apt-get indextargets --format '$(SITE) $(RELEASE)' |
    sed -n "s/ $suite\$//p" | head -n 1)
echo "deb-src $mirror $suite main" >sources.list
sources update
sources source --download-only python3.11 libffi zlib
apt-get -qq -o APT::Sandbox::User=root download musl musl-dev musl-tools
for package in musl*.deb; do
    dpkg -x "$package" "$target"
done
for archive in *.orig.tar.*; do
    tar -xf "$archive"
done

# The packages expect to be installed in the system.
libraries=$target/usr/lib/x86_64-linux-musl
sed -i "s# /usr/# $target/usr/#g; s#-L/usr/#-L$target/usr/#
    s# /lib/ld-musl# $target/lib/ld-musl#" "$libraries/musl-gcc.specs"
sed -i "s#\"/usr/lib#\"$target/usr/lib#" "$target/usr/bin/musl-gcc"
# The configuration of Python asks the compiler what it compiles for.
sed -i '2i[ "$*" = --print-multiarch ] && exec echo x86_64-linux-musl' \
    "$target/usr/bin/musl-gcc"
# Programs are linked with the library that they load.
ln -sfn "$target/lib/x86_64-linux-musl/libc.so" "$libraries/libc.so"
# The packages have no headers of the kernel.
headers=$target/usr/include/x86_64-linux-musl
ln -sfn /usr/include/linux /usr/include/asm-generic "$headers"
ln -sfn "/usr/include/$(gcc -print-multiarch)/asm" "$headers"
export CC="$target/usr/bin/musl-gcc"
export CFLAGS="-O1 -w -I$target/include" LDFLAGS="-L$target/lib"
export LD_LIBRARY_PATH= PKG_CONFIG=false

(cd zlib-*/ && ./configure --static --prefix="$target" && make -j2 install)
(cd libffi-*/ && ./configure --disable-shared --with-pic --prefix="$target" \
    --libdir="$target/lib" --disable-multi-os-directory &&
    make -j2 install)
cd Python-3.11*/
./configure --prefix="$target" --without-ensurepip --disable-test-modules
# The script that builds extensions would find the headers of the system.
modules='_bisect|_contextvars|_csv|_datetime|_heapq|_json|_opcode|_pickle'
modules="$modules|_queue|_random|_socket|_statistics|_struct|_typing|array"
modules="$modules|binascii|math|mmap|select|_blake2|_md5|_sha1|_sha256|_sha512"
modules="$modules|_posixsubprocess|fcntl|grp|resource|_ctypes|zlib"
{
    echo '*static*'
    grep -E "^#($modules) " Modules/Setup | sed "s/^#//
        s#zlibmodule.c#& -I$target/include -L$target/lib#
        s#-ldl -lffi#-I$target/include -L$target/lib &#"
} >Modules/Setup.local
make -j2 python pybuilddir.txt
# An installation would compile all modules of the library first.
python=$target/lib/python3.11
mkdir -p "$target/bin" "$python/lib-dynload"
cp -r Lib/. "$python"
cp build/lib.*/_sysconfigdata*.py "$python"
cp python "$target/bin/python3.11"
"$target/bin/python3.11" -c 'import ctypes, resource, select, zlib'
