// Package collect collects a machine's evidence in answer to one challenge, in the order in which pieces bind each
// other: the inventory, the GPUs' reports, this process's own key with a TEE's report over all of these,
// and last the TPM's quote over everything.
//
// A missing device is a finding with a reason, never an error: most machines have few of these devices.
package collect
