// Package browserwallet signs transactions of a command with a wallet in its owner's browser, found by the wallet
// standard: an extension that holds the key, or one that has a hardware wallet sign.
//
// The command serves a page on loopback. The page has a one-time code in its address, connects the wallet, shows what
// the transaction does, read from the very bytes that are signed, and hands the signature back. The command takes a
// signature of exactly its message by exactly the account that was connected first, and sends the transaction itself.
package browserwallet
