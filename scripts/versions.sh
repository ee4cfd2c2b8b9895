# Pinned tools. Every script takes its versions from here.
# shellcheck shell=bash disable=SC2034

# Go: at least this version.
GO_MIN=1.26
# Rust for everything that runs on this machine.
RUST_HOST=1.99.1
# Rust for the on-chain build: its LLVM decides what the program computes, so it is pinned to the day.
RUST_SBF=nightly-2026-10-20
SBPF_LINKER=0.2.6
# Linters.
GOFUMPT=v0.12.0
STATICCHECK=v0.8.2
VALE=v3.20.0
# What looks dependencies up in databases of advisories.
GOVULNCHECK=v1.9.0
CARGO_DENY=0.20.2
# The registry server with which private images are tested: github.com/distribution/distribution.
REGISTRY=v3.1.2
# What makes packages, and what signs their checksums.
NFPM=v2.45.0
MINISIGN=v0.3.0
# The sandbox of jobs with an image: gVisor, by its Go module.
GVISOR=v0.0.0-20260905035102-160fafc42237
# The real validator, used when it is installed.
AGAVE=4.2.2
# What draws the diagrams of the documentation's site: a package of npm, and its checksum as npm writes it.
MERMAID=12.3.0
MERMAID_INTEGRITY=sha512-4113TdXeLAsMruJ79OpFL5O8+LTFXhQqZ260rF3tgUmiNAtRm4Uume04I+65PRN6yZ69J4f8rVYWW8zRk65UYw==
# SPL Governance, built from the crate that program/governance/Cargo.lock pins.
GOVERNANCE_SHA256=c6cc3f3ae13339a6af74bfbb25775137efb7341b4a2df3849dad7da52be8572b
