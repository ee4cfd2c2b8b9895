// Package ear writes the verdict on a bundle of evidence as an EAT attestation result, which verifiers of the field read: a JWT with
// the claims of draft-ietf-rats-ear-04. The bundle stays the source: whoever has it can repeat the verdict, and a token is the word
// of its signer.
package ear
