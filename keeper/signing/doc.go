// Package signing decides what a keeper's key signs.
//
// A Protected is the key together with the store of what it has signed (package store). Everything that a keeper signs
// goes through it, by the tag of the record: what may be signed once only is in the store first, and refused when it
// contradicts what is there (ADR 0010). A message that it does not know is refused, as is a transaction with anything
// in it that a running keeper does not send (Transactions).
//
// A keeper has its Protected in its own process, or at a signer: Server serves one over a socket to several keepers,
// of which one at a time has the hold and is answered; the others stand by. Client is a keeper's end. The protocol is
// in docs/protocol/signer.md.
package signing
