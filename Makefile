# The commands of this project. Each does its own set-up; README.md tells what they are for.

SHELL := /bin/bash
export PATH := $(CURDIR)/.local/tools/bin:$(CURDIR)/.local/lambda/bin:$(PATH)
SCENARIO ?= payment-timeout
PORT ?= 9000
URL ?= http://127.0.0.1:$(PORT)

.PHONY: dev ask test check browser bench package infra preflight deploy destroy help
help: ## this list
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/'

dev: ## local emulator, embedded stores, offline model (or MODEL_BASE_URL/MODEL_NAME/MODEL_API_KEY); prints the URL
	@.ci/setup lambda
	@cargo build -q --workspace --bins
	@exec target/debug/dev --port $(PORT) --scenario $(SCENARIO)

ask: ## Q="…": one question through the chat function, the event stream as it comes
	@test -x target/debug/superbiz || cargo build -q --workspace --bins
	@target/debug/superbiz ask --raw --url $(URL) -- "$$Q"

# One selection of packages for every build: another one would resolve other features and build everything again.
check: ## the fast part of the tests: format, lints, pure crates
	cargo fmt --all --check
	cargo clippy -q --workspace --all-targets -- -D warnings
	python3 tests/scenarios/generate.py --check
	cargo test -q --workspace --lib --bins
	cargo test -q --workspace --test tidy

test: ## everything: set-up, format, lints, licences, unit, integration, acceptance, browser
	@.ci/setup lambda servers browser deny
	cargo fmt --all --check
	cargo deny --log-level error check bans licenses sources
	python3 tests/scenarios/generate.py --check
	cargo clippy -q --workspace --all-targets -- -D warnings
	cargo build -q --workspace --bins
	cargo test -q --workspace
	$(MAKE) --no-print-directory browser

browser: ## the web page in headless Chromium against the real functions
	@.ci/setup browser
	@cargo build -q --workspace --bins
	@npm --prefix tests/browser run --silent types
	@target/debug/dev --port 0 --scenario payment-timeout --emulator testkit --run node tests/browser/page.mjs

bench: ## figures of the standard run; writes target/bench.json
	cargo build -q --profile bench -p chat -p api
	cargo bench -q -p acceptance --bench standard_run
	cargo bench -q -p acceptance --bench log_search
	cargo bench -q -p acceptance --bench knowledge
	cargo bench -q -p acceptance --bench provider_stream
	cargo bench -q -p acceptance --bench store_round_trips

package: ## reproducible arm64 (or x86-64) zips and their bill of materials in target/lambda, sizes printed
	@.ci/setup lambda
	@.ci/package

infra: ## type check and tests of the AWS stack (Node 18 or later, no account)
	cd infra && npm ci --silent --no-audit --no-fund && npm test --silent

preflight: ## CONFIG=file: what a deployment still needs, in plain words
	@.ci/preflight "$(CONFIG)"

deploy: ## CONFIG=file: the stack of a configuration file, after make package; infra/README.md walks through it
	@.ci/deploy up "$(CONFIG)"

destroy: ## CONFIG=file: removes that stack
	@.ci/deploy down "$(CONFIG)"
