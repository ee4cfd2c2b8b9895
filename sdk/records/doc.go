// Package records defines the byte formats that keepers, agents, customers and the on-chain program exchange: receipts,
// check statements, report leaves and the Merkle tree over leaves.
//
// Every format has one encoding. Decoding is strict: wrong length, wrong tag, unknown values and non-zero reserved
// bytes are refused, so two peers can never read different things from the same signed bytes. All integers are
// little-endian, as in the program's accounts.
//
// Signed formats carry a Domain, the start of the cluster's genesis hash: a signature made for one cluster means
// nothing on another.
package records
