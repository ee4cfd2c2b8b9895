// Package evidence collects what this machine can prove about itself in answer to one challenge, in the order in which
// pieces bind each other: what it says of itself, its work, its GPUs' reports, a TEE's report over the keys of the others,
// and last the TPM's quote over everything.
//
// A device that is not there is a statement with a reason, never an error: most machines have few of these.
package evidence
