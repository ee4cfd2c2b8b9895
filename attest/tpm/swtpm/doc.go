// Package swtpm runs a software TPM (swtpm and swtpm_setup, Debian packages swtpm and swtpm-tools) for tests and for
// demonstrations: manufactured like a real one, with an endorsement key certificate from a certificate authority that
// lives in a folder of the caller.
//
// A software TPM proves nothing about a machine: whoever runs it holds its secrets. Only tests and demonstrations
// should trust such an authority.
package swtpm
