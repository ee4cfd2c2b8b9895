// Package tpmtest makes evidence of TPMs that do not exist, in pure Go: a manufacturer with certificates, and TPMs
// whose keys lie in memory. Tests use it where no software TPM is installed, and for what one cannot be made to do,
// such as to sign false statements. Nothing that it signs is trusted anywhere.
package tpmtest
