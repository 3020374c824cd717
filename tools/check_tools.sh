#!/bin/sh
# Names every missing or too old tool together, with the command that installs it. Exit 1 if any.
# With an architecture: also what a wheel for it needs.
set -u
bad=0
need() { # name, found version, minimum, install command
  if [ -z "$2" ]; then
    printf '%s\n' "missing: $1 (need $3 or newer). Install: $4" >&2; bad=1
  elif [ "$(printf '%s\n%s\n' "$3" "$2" | sort -V | head -n 1)" != "$3" ]; then
    printf '%s\n' "too old: $1 $2 (need $3 or newer). Install: $4" >&2; bad=1
  fi
}
first_number() { sed -n 's/[^0-9]*\([0-9][0-9.]*\).*/\1/p' | head -n 1; }
PYTHON=${PYTHON:-python3}
need "Python" "$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)" 3.11 "apt-get install python3 python3-venv   (or set PYTHON=/path/to/python3.11)"
need "Python's venv module" "$("$PYTHON" -c 'import ensurepip; print("1.0")' 2>/dev/null)" 1.0 "apt-get install python3-venv"
need "a JDK (javac)" "$(javac -version 2>&1 | grep -i '^javac' | first_number)" 17 "apt-get install openjdk-17-jdk-headless"
need "Maven" "$(mvn -v 2>/dev/null | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p' | head -n 1)" 3.8 "apt-get install maven"
need "Rust (cargo)" "$(cargo --version 2>/dev/null | first_number)" 1.90 "rustup update stable   (first: https://rustup.rs)"
need "a C linker (cc)" "$(cc -dumpversion 2>/dev/null | first_number)" 8 "apt-get install build-essential"
# A wheel for another machine: check_tools.sh aarch64.
arch=${1:-$(uname -m)}
case $arch in
  "$(uname -m)") exit $bad ;;
  x86_64) packages="gcc-x86-64-linux-gnu libc6-dev-amd64-cross" ;;
  aarch64) packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross" ;;
  *) printf '%s\n' "$arch: wheels are built for x86_64 and aarch64" >&2; exit 1 ;;
esac
need "the C compiler for $arch" "$("$arch-linux-gnu-gcc" -dumpversion 2>/dev/null | first_number)" 8 "apt-get install $packages"
libraries=$(rustc --print target-libdir --target "$arch-unknown-linux-gnu" 2>/dev/null)
need "Rust for $arch" "$([ -d "$libraries" ] && echo 1.90)" 1.90 "rustup target add $arch-unknown-linux-gnu"
exit $bad
