// Package solanapay offers deposits as Solana Pay transaction requests: a wallet, often one on a phone, follows a link
// or a QR code, fetches an unsigned transaction, shows it to its owner, signs it and sends it.
//
// The server has no key and holds no money. A payment is for one customer and one amount, both fixed when it is
// opened: neither is in the address, and an account other than the customer's gets no transaction. What it gets moves
// tokens of the account that signs into the credits of the same account, so that a link in wrong hands moves nobody's
// money.
//
// Specification: https://github.com/solana-foundation/solana-pay, SPEC.md and SPEC1.1.md.
package solanapay
