// Package browserwallet signs transactions of a command with a wallet in its owner's browser. It finds the wallet by
// the wallet standard: an extension that holds the key, or one that lets a hardware wallet sign.
//
// The command serves a page on loopback. The page has a one-time code in its address and connects the wallet. It shows
// what the transaction does, read from the same bytes that are signed, and returns the signature. The command accepts
// only a signature of exactly its message by exactly the account that was connected first. It sends the transaction
// itself.
package browserwallet
