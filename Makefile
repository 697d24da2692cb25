# Thin wrappers: each target calls a script or CMake, without logic here. 'make help' lists them.
# The scripts and CMake know the dependencies, so every target is phony and repeatable.

.DEFAULT_GOAL := help
.NOTPARALLEL:
SHELL := /bin/bash

PRESET ?= dev
# CLUSTER, GPU_NODES, CPU_NODES, SUITE, KEEP ... given on the command line reach the scripts
export

.PHONY: help
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PRESET=dev|release|asan|tsan|clang chooses a build, CLUSTER=<name> a cluster;"
	@echo "  scripts/<name> --help tells the rest."

.PHONY: setup
setup: ## make this machine (Debian 12) ready; says what it installs, quick if nothing is missing
	@scripts/setup

.PHONY: build
build: setup ## compile everything (PRESET=dev) into build/<preset>/
	@scripts/build $(PRESET)

.PHONY: programs
programs: setup ## compile the programs alone, without the tests
	@scripts/build dev-programs

.PHONY: images
images: ## container images of the programs, without Docker, into build/images/ (ARGS="--registry R --architecture arm64")
	@scripts/images $(ARGS)

.PHONY: release
release: ## the files of a release: images, manifests, Helm chart and CLI for amd64 and arm64, checksums (VERSION=1.2.3)
	@scripts/release $(VERSION) $(ARGS)

.PHONY: control-plane
control-plane: setup ## build the Kubernetes programs that tests and demo run on (once, about six minutes)
	@scripts/control-plane

.PHONY: up
up: $(if $(filter 0,$(SUITE)),setup,programs) control-plane ## start a cluster with simulated nodes and our programs (CLUSTER, GPU_NODES, CPU_NODES, SUITE)
	@scripts/up

.PHONY: down
down: ## end it (CLUSTER)
	@scripts/down

.PHONY: demo
demo: ## see a job checked, gang-scheduled, resized and finished (KEEP=1 leaves the cluster up)
	@scripts/demo

.PHONY: demo-node
demo-node: ## see it installed on a real node of this machine, and a job run in containers (root; KEEP=1)
	@scripts/demo-node

.PHONY: demo-training
demo-training: ## see a real framework, DI-engine, train CartPole as jobs on a real node of this machine (root; KEEP=1)
	@scripts/demo-training

.PHONY: test
test: ## everything the ordinary run checks: build, unit and integration tests, end-to-end tests
	@scripts/test

.PHONY: test-all
test-all: ## the same, with the end-to-end tests that take long for what they show beyond others
	@NERVEX_E2E_EXTENDED=1 scripts/test

.PHONY: test-unit
test-unit: build ## only the tests that need no cluster (PRESET)
	@ctest --preset $(PRESET) --no-tests=error -j2

.PHONY: test-e2e
test-e2e: ## only the tests on a real control plane (ARGS="-k resize" goes to pytest)
	@scripts/test --only e2e -- $(ARGS)

.PHONY: test-node
test-node: ## only the tests on a real node of this machine, all of them (root; ARGS="-k example" goes to pytest)
	@scripts/test --only node -- $(ARGS)

.PHONY: test-versions
test-versions: ## a short set of end-to-end tests on each older and newer Kubernetes (NERVEX_E2E_KUBERNETES=1.35: on that alone)
	@scripts/test --only versions -- $(ARGS)

.PHONY: test-direct
test-direct: ## the tests of gangs with --direct-placement (NERVEX_E2E_DIRECT=1; ARGS="-k healing" chooses others)
	@NERVEX_E2E_DIRECT=1 scripts/test --only e2e -- -n 2 $(if $(ARGS),$(ARGS),-k "test_partial_gangs or test_hold or test_healing or test_gang or test_replacement or test_restart or test_kill or test_reserved_capacity")

.PHONY: faults
faults: ## kill our programs in every state and at every write of a job's life, one life each (half an hour)
	@NERVEX_E2E_CRASH_POINTS=all scripts/test --only e2e -- -k test_kill -n 2 --dist worksteal $(ARGS)

.PHONY: contention
contention: ## 40 gangs into capacity for 20 for 20 minutes while everything fails (NERVEX_E2E_SEED: the faults of a run before; NERVEX_E2E_PREEMPTION=full: preemption, reservations, changes of queues)
	@NERVEX_E2E_SEED=$${NERVEX_E2E_SEED:-$$RANDOM} NERVEX_E2E_CONTENTION=$${NERVEX_E2E_CONTENTION:-1200} scripts/test --only e2e -- -k test_gangs_are_whole -s $(ARGS)

.PHONY: test-filters
test-filters: setup ## pinned pods, and plans with topology spread, against the Filter plugins of kube-scheduler (NERVEX_FILTER_PLANS, NERVEX_FILTER_SEED)
	@scripts/test-filters

.PHONY: simulate
simulate: setup ## thousands of random schedules of the simulations (ten minutes; NERVEX_SIM_SEEDS, NERVEX_SIM_FIRST)
	@scripts/simulate

.PHONY: test-asan
test-asan: setup ## unit tests under address and undefined-behaviour sanitizers
	@scripts/build asan && ctest --preset asan --no-tests=error -j2

.PHONY: test-asan-pure
test-asan-pure: setup ## the same for pure code alone (base values, kube/model, job, gang, demand, placement, queue, view, decisions of the extender): minutes
	@scripts/build asan-pure && ctest --preset asan-pure --no-tests=error -j2 $(if $(CTEST_OUTPUT_JUNIT),--output-junit $(CTEST_OUTPUT_JUNIT))

.PHONY: test-tsan
test-tsan: setup ## unit tests under the thread sanitizer
	@scripts/build tsan && ctest --preset tsan --no-tests=error -j2

.PHONY: fuzz
fuzz: setup ## libFuzzer on reviews, the schema check and JSON, under sanitizers (NERVEX_FUZZ_SECONDS of each, 600; ARGS="--keep review")
	@scripts/fuzz $(ARGS)

.PHONY: bench
bench: setup ## benchmarks, in a release build
	@scripts/bench

.PHONY: bench-gang
bench-gang: setup ## gangs that start, ours beside those of other schedulers, and docs/benchmarks.md (40 minutes; ARGS="--rounds 1")
	@scripts/bench --gang --page docs/benchmarks.md $(ARGS)

.PHONY: bench-admission
bench-admission: setup ## what a review costs, ours beside webhooks in Go, and docs/benchmarks.md (ten minutes; ARGS="--rounds 1")
	@scripts/bench --admission --page docs/benchmarks.md $(ARGS)

.PHONY: lint
lint: setup ## formatting, clang-tidy, shell scripts, types of sdk/python (ARGS=--changed: clang-tidy on changed files; ARGS=--analyze: with the static analyzer)
	@scripts/lint $(ARGS)

.PHONY: format
format: setup ## rewrite the sources as .clang-format says
	@scripts/lint --fix

.PHONY: clean
clean: ## remove build/ (the cache of set-up and control plane stays)
	rm -rf build
