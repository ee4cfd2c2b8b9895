// Package store is what a keeper must not forget. It has the statements that the keeper signed, the root of its vote in
// each period, and the leaf sets that became final. It also has proofs against others that are not on chain yet.
//
// The rule is write first, act second: a statement is on disk before it is published, a vote before it is sent. After
// kill -9 at any moment the keeper finds here what it had promised, and never promises anything else:
//
//   - a statement with the key of an earlier one and other content is refused (ErrConflict);
//   - a statement for a period that was sealed is refused (ErrSealed), so the set that peers know as complete stays
//     complete;
//   - a second manifest of a period is refused (ErrManifest), and so is a manifest of a period that is not sealed
//     (ErrOpen);
//   - a second proposal for a round of a period is refused (ErrProposal), and so is a set of other bids of an auction
//     (ErrBidSet);
//   - a file that is damaged, or belongs to another keeper or cluster, does not open; a damaged entry is an error,
//     never an empty answer (internal/boltstore).
//
// A vote may move to another root while the report is open; the program determines when. The store records for which
// root the vote was last sent.
//
// A new file does not contain what was signed before it, and a pruned file no longer does. FirstPeriod returns the
// first period for which the keeper may sign (ErrEarly). Prune raises it.
//
// A statement has a separate entry until some minutes after its period is sealed. Then Pack puts the period's
// statements together, up to 256 in an entry. Each statement has 144 bytes as they were signed, and 64 bytes of
// signature. An entry is in the order of the statements' keys and has the key of the first. A start then reads far
// fewer and smaller entries. Nothing else changes. A digest over statements, packs, manifests and votes determines what
// must be there. One transaction replaces a period's entries and the digest.
package store
