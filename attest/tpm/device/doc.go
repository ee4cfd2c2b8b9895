// Package device speaks to this machine's TPM 2.0: it reads the endorsement key's certificate, makes the attestation
// key, opens the credentials that keepers seal to it, and quotes PCRs. What it returns is what package tpm verifies.
//
// Nothing is stored in the TPM: the attestation key is derived from the endorsement seed, so it comes out the same each
// time until the TPM is cleared. Every operation opens the device, flushes what it made, and closes it again.
package device
