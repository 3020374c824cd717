# Pyrometer. `make` alone prints this list.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
BUNDLED := python/pyrometer/_bundled
CORE := python/pyrometer/_core.abi3.so
TARGET_DIR := $(or $(CARGO_TARGET_DIR),target)
HOST_ARCH := $(shell uname -m)
ARCH ?= $(HOST_ARCH)
# Programs that the plugin's jar holds, of one machine, by the names that async-profiler has for these.
natives_of = build/natives/$(patsubst x86_64,linux-x64,$(patsubst aarch64,linux-arm64,$(1)))
HOST_NATIVES := $(call natives_of,$(HOST_ARCH))
NATIVES := $(call natives_of,$(ARCH))
# Made anew whenever the jar is to be for another machine than the last time.
JAR_FOR := build/jar-for-$(ARCH)
# The same for native parts: CI has them compiled faster, and what ships is not to be what CI compiled.
COMPILED := build/compiled-as-$(or $(CARGO_PROFILE_RELEASE_OPT_LEVEL),declared)
RUST_SOURCES := $(shell find crates schema -type f -not -path '*/target/*' 2>/dev/null) Cargo.toml Cargo.lock
jvm_sources = $(shell find jvm/$(1) -type f -not -path '*/target/*' 2>/dev/null)
JVM_MODULES := plugin workloads
JARS := $(JVM_MODULES:%=$(BUNDLED)/pyrometer-%.jar)
WEB_TESTS := $(shell find web/test -name '*.test.mjs' 2>/dev/null)
# Three on two CPUs: tests that start processes wait for them. A module or class stays together.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadscope --durations=15 --durations-min=1
# Tests that start no process of ours: every room's, in minutes.
FAST := tests/unit tests/property tests/golden python
# Maven that uses nothing whose hash is not in jvm/maven.lock.
MVN := $(PYTHON) tools/supply/mvn.py
# Says what a command does while it runs; its output goes to target/logs.
STEP := @$(PYTHON) tools/step.py
# Makes an environment; one without pip was interrupted while it was made.
environment = @$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1)
# The same without pip, which takes seconds to install: uv fills it from outside.
environment_for_uv = @$(1)/bin/python -c '' 2>/dev/null || $(PYTHON) -m venv --clear --without-pip $(1)
# Once, and the same for the makes that this one starts: with ?= each recipe would have a time of its own.
PYROMETER_BEGAN := $(or $(PYROMETER_BEGAN),$(shell date +%s))
export PYROMETER_BEGAN
export PYROMETER_STAGED := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup setup-test rebuild bundled bpf check-bpf demo examples test test-fast test-bare test-all test-rust test-jvm test-python test-web sanitize check check-rust check-python check-generated check-jvm format fuzz bench bench-overhead docs docs-pages docs-site cluster-up cluster-down control-plane bless lock third-party sbom audit wheel clean

help: ## Print this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | expand -t 14

# Packages are loaded, crates compiled and jars built at once.
SETUP := $(VENV)/.installed
setup: $(VENV)/.tools ## Set everything up: environment, native parts, plugin (locked versions)
	@$(MAKE) --no-print-directory -j 3 $(SETUP)

# `setup` has this SETUP, too, if it is made for `setup-test`. Else it is finished: no two makes build the same.
setup-test: SETUP += $(VENV)-spark35/.installed $(VENV)-remote/.installed
setup-test: setup ## The same, and what else the tests need: a second Spark (3.5), object stores
	@$(MAKE) --no-print-directory -j 3 $(SETUP)

$(VENV)/.tools: tools/check_tools.sh
	@PYTHON=$(PYTHON) sh tools/check_tools.sh
	$(call environment,$(VENV))
	@touch $@

$(VENV)/.requirements: $(VENV)/.tools requirements/dev.txt requirements/uv.txt
	$(STEP) uv $(BIN)/python -m pip install --require-hashes -r requirements/uv.txt
	$(STEP) packages env VIRTUAL_ENV=$(VENV) $(UV) pip install --require-hashes -r requirements/dev.txt
	@touch $@

$(VENV)-spark35/.installed: $(VENV)/.requirements requirements/spark35.txt
	@PYTHON=$(firstword $(wildcard $(VENV)-spark35/bin/python) $(PYTHON)) sh tools/check_tools.sh spark35
	$(call environment_for_uv,$(VENV)-spark35)
	$(STEP) spark35 env VIRTUAL_ENV=$(VENV)-spark35 $(UV) pip install --require-hashes -r requirements/spark35.txt
	@touch $@

$(VENV)-remote/.installed: $(VENV)/.requirements requirements/remote.txt
	$(call environment_for_uv,$(VENV)-remote)
	$(STEP) remote env VIRTUAL_ENV=$(VENV)-remote $(UV) pip install --require-hashes -r requirements/remote.txt
	@touch $@

# Together, so that they agree on the features of the crates that they share (docs/adr/0005).
$(BUNDLED)/pyro-probe $(CORE) $(HOST_NATIVES)/pyro-agent &: $(RUST_SOURCES) $(COMPILED)
	@mkdir -p $(BUNDLED) $(HOST_NATIVES)
	$(STEP) native cargo build --locked --release -p pyro-py -p pyro-probe -p pyro-agent
	@strip -o $(BUNDLED)/pyro-probe.tmp $(TARGET_DIR)/release/pyro-probe && mv $(BUNDLED)/pyro-probe.tmp $(BUNDLED)/pyro-probe
	@cp $(TARGET_DIR)/release/lib_core.so $(CORE).tmp && mv $(CORE).tmp $(CORE)
	@cp $(BUNDLED)/pyro-probe $(HOST_NATIVES)/pyro-probe
	@strip -o build/pyro-agent.tmp $(TARGET_DIR)/release/pyro-agent && mv build/pyro-agent.tmp $(HOST_NATIVES)/pyro-agent

$(COMPILED):
	@mkdir -p build && rm -f build/compiled-as-* && touch $@

bpf: ## Compile the probe's BPF programs, which are committed (needs clang 14)
	@$(PYTHON) tools/build_bpf.py

check-bpf: ## Compile the BPF programs elsewhere and compare them with those committed
	@$(PYTHON) tools/build_bpf.py --check

$(BUNDLED)/pyrometer-plugin.jar: $(call jvm_sources,plugin) $(NATIVES)/pyro-agent $(JAR_FOR)
$(JAR_FOR):
	@mkdir -p build && rm -f build/jar-for-* && touch $@
$(BUNDLED)/pyrometer-workloads.jar: $(call jvm_sources,workloads)
# One after the other: Maven's repository is not made for two at once. The plugin's waits for cargo anyway.
$(BUNDLED)/pyrometer-plugin.jar: | $(BUNDLED)/pyrometer-workloads.jar
$(JARS): $(BUNDLED)/pyrometer-%.jar:
	@mkdir -p $(BUNDLED)
	@rm -rf jvm/$*/target/classes/org/pyrometer/natives
	$(STEP) $*.jar $(MVN) -f jvm/$*/pom.xml package -Dmaven.test.skip=true -Dnatives=$(notdir $(NATIVES))
	@cp jvm/$*/target/pyrometer-$*.jar $@.tmp && mv $@.tmp $@

$(BUNDLED)/report-page.html: $(wildcard web/*.html web/*.css) $(shell find web/src -name '*.js' 2>/dev/null) python/pyrometer/pages/bundle.py
	@mkdir -p $(BUNDLED)
	$(STEP) page $(PYTHON) python/pyrometer/pages/bundle.py web $@

rebuild: ## Build the native parts and jars of this checkout again
	@rm -rf $(BUNDLED) $(CORE) $(VENV)/.installed
	@$(MAKE) --no-print-directory setup

bundled: $(BUNDLED)/pyro-probe $(JARS) $(BUNDLED)/report-page.html ## Build the probe, the jars and the report's page into the package

$(VENV)/.installed: $(VENV)/.requirements $(CORE) $(BUNDLED)/pyro-probe $(JARS) tools/install_editable.py
	@$(BIN)/python tools/install_editable.py
	@touch $@

demo: setup ## Generate the data, run parquet-scan, print the summary and the path of report.html
	@$(BIN)/pyrometer run parquet-scan

# Cargo and Maven each wait for one thread at times, so they run side by side; what each prints comes when it ends.
test: setup-test ## Set everything up and run the tests
	@$(MAKE) --no-print-directory -j 2 -O test-rust test-jvm test-web
	@$(MAKE) --no-print-directory test-python

test-fast: setup test-web ## The tests of every room that start no Spark, and the command line once
	$(PYTEST) -m "not slow" $(FAST) tests/integration/cli

# Doctests, property and golden tests and those of rules are left out: they compute, and know no tool.
# Tests of rooms that start no program: a missing tool changes nothing in them. Nor in how a process is
# started and ended.
TOOLLESS := property golden $(addprefix unit/,accounts api attribution benchmarks characterise cli cluster compare core corun docs experiments explain export flame guests hosts layouts pages push report scaling simulation statistics store summary terminal testing timeline trial tune verification window workloads collect/probes/test_python_sampler.py) \
  $(addprefix packaging/test_,licences.py maven_lock.py sbom.py) \
  $(addprefix integration/,accounts collect/run/test_run_process.py docs explain push simulation store summary cli/test_kept_summary.py workloads/test_warmup_found.py \
  $(addprefix collect/test_,beside.py faults_jvm.py probe_budget.py probe_due.py probe_sched.py)) \
  $(addprefix contract/,test_failing_truths.py test_iterative_workloads.py test_structural_truths.py test_suites.py test_truth_causes.py test_views.py test_workload_skeletons.py test_workloads.py)

test-bare: setup-test ## The tests without Spark on a PATH that hides every optional tool: they pass, or say what is missing
	sh tools/hide_optional_tools.sh $(PYTEST) tests -m "not slow and not spark" $(TOOLLESS:%=--ignore=tests/%)

# Jobs that others would slow down, so that what tutorials show would not be true, and a build.
ALONE := tests/integration/docs/test_tutorials.py tests/packaging/test_wheel.py

test-all: setup-test ## The tests and the slow ones, with many more examples of properties
	@$(MAKE) --no-print-directory -j 2 -O test-rust test-jvm test-web
	export PYROMETER_THOROUGH=1; failed=0; \
	$(PYTEST) -n 0 $(ALONE) || failed=1; $(PYTEST) $(ALONE:%=--ignore=%) || failed=1; exit $$failed

test-rust:
	@# Without make's job server, which rustdoc cannot reach.
	MAKEFLAGS= cargo test -q --locked --release --workspace

sanitize: ## Tests of the crates with unsafe under Miri and AddressSanitizer (a nightly Rust; half an hour)
	@$(PYTHON) tools/sanitize.py

test-jvm:
	for module in $(JVM_MODULES); do $(MVN) -q -f jvm/$$module/pom.xml verify || exit 1; done

test-python: setup-test
	$(PYTEST) -m "not slow"

test-web:
	@if command -v node >/dev/null; then node --test $(WEB_TESTS); \
	else echo "left out: $(words $(WEB_TESTS)) files of front-end unit tests (no node). Install: apt-get install nodejs" >&2; fi

check: check-rust check-python check-generated check-jvm ## Format, lint, types, import layers, generated files

check-rust: setup
	cargo fmt --all --check
	cargo clippy -q --locked --release --workspace --all-targets -- -D warnings

check-python: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/check_imports.py

check-generated: setup
	$(BIN)/python tools/generate_schema.py --check
	$(BIN)/python tools/generate_categories.py --check
	$(BIN)/python tools/generate_file_schemas.py --check
	$(BIN)/python tools/generate_workloads.py --check
	$(BIN)/python tools/generate_cli.py --check
	$(BIN)/python tools/generate_rules.py --check
	$(BIN)/python tools/generate_spaces.py --check
	$(BIN)/python tools/build_bpf.py --check-sources
	$(BIN)/python -m tools.supply.licences
	$(BIN)/python -m tools.supply.third_party --check

check-jvm: setup
	for module in $(JVM_MODULES); do $(MVN) -q -f jvm/$$module/pom.xml spotless:check || exit 1; done

format: ## Format everything
	cargo fmt --all
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix -q . || true
	for module in $(JVM_MODULES); do $(MVN) -q -f jvm/$$module/pom.xml spotless:apply || exit 1; done

FUZZ := --executions 1000000
fuzz: ## Fuzz every parser of bytes for a while (FUZZ='--help' says how to ask for more; needs nightly Rust)
	$(PYTHON) tools/fuzz_campaign.py $(FUZZ)

bench: setup-test ## Figures beside peers and the cost of measuring (long; on a quiet machine)
	$(BIN)/python -m benchmarks
	$(MVN) -q -f jvm/plugin/pom.xml -Pbench test-compile exec:exec

bench-overhead: setup ## Slow-down by measuring, within one JVM and with two at once (some three hours; on a quiet machine)
	@mkdir -p build/benchmarks
	$(BIN)/python -m benchmarks.toggled --each -o build/benchmarks/toggled.json
	$(BIN)/python -m benchmarks.duets --seconds 1800 -o build/benchmarks/duets.json

docs: setup docs-pages docs-site ## Regenerate reference pages and build the site into site/

docs-pages: setup
	$(BIN)/python tools/generate_schema.py
	$(BIN)/python tools/generate_categories.py
	$(BIN)/python tools/generate_file_schemas.py
	$(BIN)/python tools/generate_workloads.py
	$(BIN)/python tools/generate_cli.py
	$(BIN)/python tools/generate_rules.py
	$(BIN)/python tools/generate_spaces.py

docs-site: $(VENV)-docs/.installed
	@NO_MKDOCS_2_WARNING=1 $(VENV)-docs/bin/mkdocs build -q --clean --strict
	@$(PYTHON) tools/check_site.py

$(VENV)-docs/.installed: $(VENV)/.requirements requirements/docs.txt
	$(call environment_for_uv,$(VENV)-docs)
	@VIRTUAL_ENV=$(VENV)-docs $(UV) pip install -q --require-hashes -r requirements/docs.txt
	@touch $@

examples: setup ## Run everything in examples/ again (as root, ten minutes on a quiet machine)
	$(BIN)/python tools/make_examples.py

# A bed outlives make, and is taken away without anything that has to be built.
SPARK := 4
MANAGER := standalone
CLUSTER = PYTHONPATH=python:. $(BIN)/python -m tests.cluster
cluster-up: setup ## Make a cluster of three hosts on this machine, as root (NAME=…, SPARK=3.5, MANAGER=yarn or kubernetes)
	@$(CLUSTER) up --spark $(SPARK) --manager $(MANAGER) $(or $(NAME),$(error give NAME=…, up to 8 small letters and digits))

cluster-down: ## Take a cluster away, whoever made it (NAME=…)
	@$(CLUSTER) down $(or $(NAME),$(error give NAME=…: python -m tests.cluster list))

control-plane: setup ## Build the control plane of Kubernetes for clusters of hosts, once (needs Go; ten minutes)
	@$(CLUSTER).kube.build

bless: setup ## Accept the present outputs as golden
	PYROMETER_BLESS=1 $(PYTEST) tests/golden

COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate
lock: $(VENV)/.requirements ## Renew the lock files (hashes, no index addresses) and what is written from them
	for f in dev spark35 uv docs wheel audit; do $(COMPILE) -o requirements/$$f.txt $$( [ $$f = dev ] && echo pyproject.toml ) requirements/$$f.in || exit 1; done
	$(COMPILE) -c requirements/dev.txt -o requirements/package.txt pyproject.toml
	$(COMPILE) -c requirements/package.txt --extra s3 --extra gcs --extra abfs -o requirements/remote.txt pyproject.toml requirements/remote.in
	cargo update --workspace -q
	$(PYTHON) tools/supply/mvn.py --lock
	$(MAKE) --no-print-directory third-party

third-party: ## Write the licences of what others wrote, from the lock files
	$(PYTHON) -m tools.supply.third_party

sbom: $(VENV)/.requirements ## Write the wheel's bill of materials (CycloneDX) into dist/
	$(BIN)/python -m tools.supply.sbom

$(VENV)-audit/.installed: $(VENV)/.requirements requirements/audit.txt
	$(call environment_for_uv,$(VENV)-audit)
	-$(STEP) pip-audit env VIRTUAL_ENV=$(VENV)-audit $(UV) pip install --require-hashes -r requirements/audit.txt && touch $@

audit: $(VENV)-audit/.installed ## Ask for known weaknesses of all that is locked (needs a network)
	@$(PYTHON) -m tools.supply.audit

# The extension is linked by zig against an old glibc, so that the wheel runs on distributions from
# 2018 on; the probe, which has its libc inside, by the compiler of the machine (or a cross compiler).
WHEEL_BIN := $(VENV)-wheel/bin
GLIBC := 2.28
TRIPLE := $(ARCH)-unknown-linux-gnu

$(VENV)-wheel/.installed: requirements/wheel.txt
	$(call environment,$(VENV)-wheel)
	$(STEP) maturin $(WHEEL_BIN)/python -m pip install --require-hashes -r requirements/wheel.txt
	@touch $@

ifeq ($(ARCH),$(HOST_ARCH))
# The one that `setup` has compiled.
WHEEL_PROBE := $(BUNDLED)/pyro-probe
else
WHEEL_PROBE := $(TARGET_DIR)/$(TRIPLE)/release/pyro-probe
$(WHEEL_PROBE): export CARGO_TARGET_$(shell echo $(TRIPLE) | tr a-z- A-Z_)_LINKER := $(ARCH)-linux-gnu-gcc
$(WHEEL_PROBE): $(RUST_SOURCES)
	$(STEP) probe cargo build --locked --release --target $(TRIPLE) -p pyro-probe -p pyro-agent --config 'profile.release.strip="symbols"'

$(NATIVES)/pyro-agent: $(WHEEL_PROBE)
	@mkdir -p $(NATIVES)
	@cp $(WHEEL_PROBE) $(NATIVES)/pyro-probe
	@cp $(dir $(WHEEL_PROBE))pyro-agent $@
endif

wheel: ## Build the wheel into dist/ (for another machine: ARCH=aarch64)
	@PYTHON=$(PYTHON) sh tools/check_tools.sh $(ARCH)
	@$(MAKE) --no-print-directory -j 3 $(VENV)-wheel/.installed $(WHEEL_PROBE) $(JARS) $(BUNDLED)/report-page.html
	$(STEP) wheel env PATH=$(abspath $(WHEEL_BIN)):$$PATH PYROMETER_PROBE=$(abspath $(WHEEL_PROBE)) \
		MATURIN_PEP517_ARGS="--locked --zig --target $(TRIPLE) --compatibility manylinux_$(subst .,_,$(GLIBC))" \
		$(WHEEL_BIN)/python -m pip wheel -v --no-deps --no-index --no-build-isolation -w dist .
	@ls dist/*$(ARCH).whl

clean: ## Remove what was built (not the environments)
	rm -rf target build/natives build/jar-for-* build/compiled-as-* jvm/*/target $(BUNDLED) $(CORE) dist
