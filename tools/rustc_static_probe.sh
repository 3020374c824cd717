#!/bin/sh
# Runs rustc (cargo's rustc-workspace-wrapper); the programs `pyro-probe` and `pyro-agent` get libc inside. As flag
# for all crates (RUSTFLAGS) that would compile every one of them a second time.
case " $* " in
  *" --crate-name pyro_probe "*" --crate-type bin "* | *" --crate-name pyro_agent "*" --crate-type bin "*) exec "$@" -C target-feature=+crt-static ;;
  *) exec "$@" ;;
esac
