// Package dispute lets a keeper judge disputes automatically. The keeper uses its own signed statements about the
// lease, and the outputs of a redundant job on chain. Judge is a pure function. If it cannot decide, the keeper
// abstains; its operator may vote with the command line.
//
// The customer's complaint is a file whose sha256 is on chain. Complaints accepts the file from any sender while the
// dispute is open, keeps it on disk, and gives it to other keepers. A dispute whose complaint nobody can read is never
// upheld.
//
// An upheld dispute can be appealed. If a keeper has learned something since and judges differently, it signs a
// statement about the lease's output and sends it to the chain.
package dispute
