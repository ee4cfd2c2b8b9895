// Package txm submits transactions so that each intent takes effect exactly once or fails for a stated reason, whatever
// is killed in between.
//
// An intent is stored before anything is sent, and a signed transaction is stored before it is sent. The states are
//
//	queued → sent → processed → confirmed → finalised
//	           ├→ expired → sent (rebuilt with a new blockhash)
//	           └→ failed (the program refused; never retried)
//
// and observed, when reading the chain shows that the intent's effect is there although no transaction of ours put it
// there.
//
// A replacement is signed only after the finalised chain proves that every earlier transaction of the intent can never
// land (chain.Client.Fate). When a node's memory does not reach far enough for the proof, the intent fails with
// ErrUncertain instead of being sent again, unless it says that a second one does no harm (Intent.Repeatable).
//
// Private keys are never stored: signers are known by public key and resolved from the caller's Keyring.
package txm
