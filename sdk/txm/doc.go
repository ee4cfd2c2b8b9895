// Package txm submits transactions. Each intent takes effect exactly once or fails for a stated reason, even if a
// process is killed in between.
//
// An intent is stored before anything is sent, and a signed transaction is stored before it is sent. The states are
//
//	queued → sent → processed → confirmed → finalised
//	           ├→ expired → sent (rebuilt with a new blockhash)
//	           └→ failed (the program refused; never retried)
//
// and observed. An intent is observed if the chain shows its effect although none of our transactions caused it.
//
// A replacement is signed only after the finalised chain proves that every earlier transaction of the intent can never
// land (chain.Client.Fate). A Solana node's history may be too short for the proof. Then the intent fails with
// ErrUncertain instead of being sent again, unless it declares that a second transaction does no harm
// (Intent.Repeatable).
//
// Private keys are never stored: signers are known by public key and resolved from the caller's Keyring.
package txm
