// Package sponsor lets somebody else pay fees and rent, so that a wallet needs no SOL. The sponsor is a server that speaks
// Kora's JSON-RPC: Kora itself, or `gantry serve --sponsor-key`.
//
// The sponsor's key is the fee payer of a transaction, and the customer's key signs as before. Where the customer's wallet
// has to pay rent, the sponsor sends it what is missing in the same transaction. The sponsor never gets the customer's key, and
// the customer takes no other bytes back than it has sent.
package sponsor
