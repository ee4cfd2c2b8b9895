// Package store is what a keeper must not forget: the statements that it signed, the root that its vote is for in each
// period, the leaf sets that became final, and proofs against others that are not on chain yet.
//
// The rule is write first, act second: a statement is on disk before it is published, a vote before it is sent. After
// kill -9 at any moment the keeper finds here what it had promised, and never promises anything else:
//
//   - a statement with the key of an earlier one and other content is refused (ErrConflict);
//   - a statement for a period that was sealed is refused (ErrSealed), so that what peers were told is complete stays
//     complete;
//   - a second manifest of a period is refused (ErrManifest), as is one of a period that is not sealed (ErrOpen);
//   - a second proposal for a round of a period is refused (ErrProposal), as is a set of other bids of an auction
//     (ErrBidSet);
//   - a file that is damaged, or of another keeper or cluster, does not open, and a damaged entry is an error, never an
//     empty answer (internal/boltstore).
//
// A vote may move to another root while the report is open; the program says when. The store knows where it was last
// sent to.
//
// A new file cannot know what was signed before it, and a pruned one does not know it any more: FirstPeriod says from
// which period on a keeper may sign (ErrEarly). Prune raises it.
//
// A statement has an entry of its own until some minutes after its period is sealed; then Pack puts the period's
// statements together, up to 256 in an entry: each 144 bytes as they were signed and 64 of signature, in the order of
// their keys, under the key of the first. A start reads far fewer and smaller entries for it, and nothing else changes:
// a digest over statements, packs, manifests and votes says what must be there, and one transaction replaces a period's
// entries and the digest.
package store
