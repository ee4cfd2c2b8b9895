# The targets that people use. Each is a script in scripts/, which checks its tools and says what is missing.
ENGINE ?= surfnet

.DEFAULT_GOAL := help
.PHONY: help docs demo rehearsal build dist dist-check check test test-all flaky test-rust test-go test-e2e program program-verify idl plots recording check-generated lint outdated advisories nat hostile-network hostile-container hostile hostile-long bench scale bench-lease clients api-probe moves honest sizing guest fuzz nightly evidence-simulation simulation soak kill-test toolchain clean measure-report gpu-table gpu-calibrate

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-20s %s\n", $$1, $$2 }'

demo: ## run the whole market on a local Solana node (ENGINE=surfnet or agave; VERBOSE=1 prints every step)
	@scripts/demo.sh $(ENGINE) $(if $(VERBOSE),--verbose)

rehearsal: ## play the work of operators under load: handover, upgrades, a pause, lost keys, another program, a migration (ENGINE=surfnet or agave)
	@scripts/rehearsal.sh $(ENGINE)

build: ## build all binaries into build/bin
	@scripts/build.sh

dist: ## build packages (.deb, .rpm), archives and wheels for Linux, macOS and Windows, and container images into build/dist (GANTRY_SIGN_KEY=FILE signs, GANTRY_DOWNLOAD=URL writes a Homebrew formula)
	@scripts/dist.sh

guest: ## build the measured guest's image into build/guest, and the values that a TPM shows of it (guest/image/expected.json)
	@scripts/toolchain.sh guest && go run ./guest/cmd/guest-image

dist-check: ## install the packages and the wheel in a fresh Debian and use them (Linux, root)
	@scripts/dist-check.sh

check: ## before a commit: format, vet and test what changed and what depends on it (BASE=commit)
	@scripts/check.sh $(BASE)

test: ## the tests: Rust, Go, scenarios that show each promise once
	@scripts/test.sh

test-all: ## the long ones too, with the race detector, and all scenarios on every installed engine (hours)
	@scripts/test.sh --all

flaky: ## run the scenarios RUNS=20 times on a quiet computer and beside two busy loops, and count failures (TESTS=PATTERN for some)
	@scripts/flaky.sh $(or $(RUNS),20) '$(or $(TESTS),.)'

test-rust test-go test-e2e: test-%: ## one part of the tests
	@scripts/test.sh $*

program: ## build program/artifacts/gantry_market.so
	@scripts/program.sh so

program-verify: ## build the program again in a place that shares nothing with this checkout, and compare (PROGRAM_VERIFY_FRESH=1: with tools of its own)
	@scripts/program-verify.sh

idl: ## build idl/gantry_market.json and the Go bindings
	@scripts/program.sh idl go

plots: ## draw the pictures of docs/reports from the tables of its pages
	@go run -C scripts/plots . ../../docs/reports

recording: build ## record the demo anew: docs/images/demo.cast (asciinema) and demo.svg (Linux; root, for all chapters)
	@go run ./scripts/record -cast docs/images/demo.cast -picture docs/images/demo.svg -title "make demo" -- build/bin/gantry-localnet demo

check-generated: ## rebuild all generated files and fail on any difference
	@scripts/check-generated.sh

lint: ## gofumpt, go vet, staticcheck, rustfmt, clippy
	@scripts/lint.sh

outdated: ## fail when a pinned version is behind: something newer has been there for 90 days (scripts/outdated.txt says why some stay)
	@scripts/outdated.sh

advisories: ## look the dependencies up in the databases of advisories (govulncheck, cargo-deny)
	@scripts/advisories.sh

nat: ## reach a machine behind a home router, in network namespaces (Linux, root)
	@scripts/nat.sh

hostile-network: build ## attack keepers and machines from strangers and dishonest members (Linux, root; DURATION=10m, REPORT=file)
	@build/bin/gantry-localnet hostile-network --for $(or $(DURATION),60s) $(if $(REPORT),--report $(REPORT))

hostile-container: ## attack the machine by images and containers (Linux, root, runsc)
	@scripts/hostile-container.sh

hostile: ## attack the program: substitution matrix, random sequences, mutants
	@scripts/hostile.sh

hostile-long: ## the same with a million instructions (nightly; GANTRY_HOSTILE_SEED for other sequences)
	@GANTRY_HOSTILE_INSTRUCTIONS=$${GANTRY_HOSTILE_INSTRUCTIONS:-1000000} scripts/hostile.sh

bench: ## benchmarks (BENCH=./package/... for some)
	@scripts/bench.sh

docs: ## build the documentation's site into build/site, and fail when a link leads nowhere
	@scripts/docs.sh

clients: ## generate the clients from the OpenAPI document and from the program's IDL, check and test them, pack them into build/clients
	@scripts/clients.sh

api-probe: ## Schemathesis against a running gantry serve (URL=http://127.0.0.1:8484 TOKEN_FILE=token)
	@scripts/clients.sh probe $(or $(URL),http://127.0.0.1:8484) $(or $(TOKEN_FILE),token)

scale: ## benchmarks of markets of a million machines: minutes and gigabytes (PART=match, report or read for one)
	@scripts/scale.sh

bench-lease: ## leases as containers beside OpenSSH and iperf3; writes docs/reports/leases.md (Linux, root)
	@scripts/bench-lease.sh $(BENCH_LEASE)

moves: build ## how long leases stand still whose machines are gone, 50 times; writes docs/reports/moves.md (MOVES="--runs 10" for fewer)
	@build/bin/gantry-localnet moves --report docs/reports/moves.md $(MOVES)

honest: build ## an hour of honest machines with bad RPC nodes on a busy computer; prints a page (HONEST="--for 10m --busy 0" for less, --report FILE for a file)
	@build/bin/gantry-localnet honest $(HONEST)

fuzz: ## every fuzz target for 30 s (FUZZTIME=10m, FUZZ=./package/... for some)
	@scripts/fuzz.sh $(or $(FUZZTIME),30s) $(FUZZ)

nightly: ## many random cases, every bit flip of the evidence samples, every fuzz target (1-2 h; FUZZTIME=10m)
	@FUZZTIME=$(or $(FUZZTIME),30s) scripts/nightly.sh

evidence-simulation: ## how often and how soon evidence finds out false machines
	@go run ./attest/cmd/evidence-simulation

simulation: ## 200 small markets in virtual time with random faults (SIMULATION="--seed 1000" for others)
	@go run ./localnet/cmd/gantry-localnet sim --random --runs 200 $(SIMULATION)

measure-report: ## a million changed answers, and what measurements cost keepers; writes docs/reports/measuring.md (MUTATIONS=10000 for fewer)
	@scripts/measure-report.sh

gpu-table: ## what measurements tell apart, on processors in place of GPUs (5 min; TRIALS=20 for fewer); writes docs/reports/gpu-table.md
	@scripts/gpu-table.sh -report docs/reports/gpu-table.md $(if $(TRIALS),-trials $(TRIALS))

gpu-calibrate: ## measure this machine's GPUs; writes build/gpu-classes.md, and their figures into the table of classes (attest/measure/class/gpus.json)
	@mkdir -p build && go run ./attest/cmd/gpu-table -gpus -report build/gpu-classes.md -classes attest/measure/class/gpus.json

sizing: build ## what daemons take in markets of 4 and of 100 machines; prints a table for docs/operate/sizing.md (SIZING="--machines 4 --for 1m" for less)
	@build/bin/gantry-localnet sizing $(SIZING)

soak: build ## 30 minutes of steady orders with 200 nodes on the agave engine (SOAK="--for 5m --engine surfnet" for less)
	@build/bin/gantry-localnet soak --engine agave $(SOAK)

kill-test: ## kill daemons and commands while leases are bought, run and settled (KILLS=200; PART=containers: all that containers need; PART=serve: the HTTP server while it buys; KILLS_REPORT=FILE)
	@scripts/kill-test.sh $(or $(PART),processes) $(or $(KILLS),200) $(KILLS_REPORT)

toolchain: ## install the pinned tools
	@scripts/toolchain.sh all

clean: ## remove what was built in the checkout (the cache stays)
	rm -rf build
