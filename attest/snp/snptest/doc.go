// Package snptest makes SEV-SNP evidence for tests: reports with any content, signed by a made-up chain with the shape
// of AMD's. Its keys are the public test keys of go-sev-guest, so nothing that it signs is worth anything; the pinned
// roots of package snp refuse all of it.
package snptest
