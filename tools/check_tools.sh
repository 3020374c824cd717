#!/bin/sh
# Names every missing or too old tool together, with the command that installs it. Exit 1 if any.
# With an architecture: also what a wheel for it needs. With "spark35": only whether Python has what
# the tests' second Spark is locked to.
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
python=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
if [ "${1:-}" = spark35 ]; then
  [ "$(printf '%s\n3.12\n' "$python" | sort -V | head -n 1)" = "$python" ] && exit 0
  printf '%s\n' "too new: Python $python for the tests with Spark 3.5 (its numpy, 1.26, is for 3.12 at most). With a Python 3.12 or 3.11: rm -rf .venv-spark35; make test PYTHON=python3.12" >&2
  exit 1
fi
# Distributions with a new enough version; elsewhere the package is there, but an older one.
new="Debian 12, Ubuntu 24.04 or newer"
need "Python" "$python" 3.11 "apt-get install python3 python3-venv   ($new; elsewhere install one beside it and set PYTHON=/path/to/python3.12)"
need "Python's venv module" "$("$PYTHON" -c 'import ensurepip; print("1.0")' 2>/dev/null)" 1.0 "apt-get install python$([ -z "$python" ] && echo 3 || echo "$python")-venv"
# Maven takes the JDK in JAVA_HOME, and only without that the one on PATH.
javac=${JAVA_HOME:+$JAVA_HOME/bin/}javac
jdk="apt-get install openjdk-17-jdk-headless, or openjdk-21-jdk-headless where there is no 17"
[ -z "${JAVA_HOME:-}" ] || jdk="$jdk; then unset JAVA_HOME, which is $JAVA_HOME, or set it to that JDK"
need "a JDK (javac)" "$("$javac" -version 2>&1 | grep -i '^javac' | first_number)" 17 "$jdk"
said=$(mvn -v 2>&1)
maven=$(printf '%s\n' "$said" | sed -n 's/.*Apache Maven \([0-9.]*\).*/\1/p' | head -n 1)
if [ -z "$maven" ] && command -v mvn >/dev/null; then
  printf '%s\n' "mvn -v fails: $said" >&2; bad=1
else
  need "Maven" "$maven" 3.8 "apt-get install maven   ($new; elsewhere unpack the one of Apache Maven's download page and put its bin first on PATH)"
fi
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
