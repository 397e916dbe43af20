# The commands of this project. Each does its own set-up; README.md tells what they are for.

SHELL := /bin/bash
export PATH := $(CURDIR)/.local/tools/bin:$(CURDIR)/.local/lambda/bin:$(PATH)
SCENARIO ?= payment-timeout
PORT ?= 9000
URL ?= http://127.0.0.1:$(PORT)

.PHONY: dev ask test check unit browser bench package help
help: ## this list
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/:.*## /\t/'

dev: ## local emulator, embedded stores, offline model (or MODEL_BASE_URL/MODEL_NAME/MODEL_API_KEY); prints the URL
	@.ci/setup lambda
	@cargo build -q -p chat -p api -p testkit --bins
	@exec cargo run -q -p testkit --bin dev -- --port $(PORT) --scenario $(SCENARIO)

ask: ## Q="…": one question through the chat function, the event stream as it comes
	@cargo run -q -p cli --bin superbiz -- ask --url $(URL) "$(Q)"

check: ## the fast part of the tests: format, lints, pure crates
	cargo fmt --all --check
	cargo clippy -q --workspace --all-targets -- -D warnings
	python3 tests/scenarios/generate.py --check
	cargo test -q -p domain -p agent -p edge -p app -p llm -p chat -p api
	cargo test -q -p acceptance --test tidy

test: ## everything: set-up, format, lints, licences, unit, integration, acceptance, browser
	@.ci/setup lambda servers browser deny
	$(MAKE) --no-print-directory check
	cargo deny --log-level error check bans licenses sources
	cargo build -q --workspace --bins
	cargo test --workspace -- --test-threads=4
	$(MAKE) --no-print-directory browser

browser: ## the web page in headless Chromium against the real functions
	@.ci/setup lambda browser
	@cargo build -q -p chat -p api -p testkit --bins
	@cargo run -q -p testkit --bin dev -- --port 0 --scenario payment-timeout --emulator testkit --run node tests/browser/page.mjs

bench: ## figures of the standard run; writes target/bench.json
	cargo build -q --profile bench -p chat -p api
	cargo bench -q -p acceptance --bench standard_run

package: ## deployable arm64 (or x86-64) zips in target/lambda, sizes printed
	@.ci/setup lambda
	@.ci/package
