// Package hostile sets strangers and dishonest members of the market on assembled daemons, and asks whether honest ones
// come to harm.
//
// Its tests do so within one process. Run does so with the binaries and addresses of a real network:
//
//	namespace "market", 11.0.0.0/16                     one namespace and address each
//	  a Solana node                                       strangers: three, with any number of free keys
//	  keepers    11.0.0.11 … 13   ── bridge ── veth ──    a customer, the tenant of a lease, a registered machine
//	  machines   11.0.0.21 … 23                           keepers that wait, are active, leave, are expelled
//	  gateway    11.0.0.31, with public ports too
//	  customers                                           a victim, which takes no part and counts who comes
//
// All of it is in namespaces of its own (network, processes, mounts), so that the kernel removes everything with the
// first process, however that ends. Attackers run at the lowest priority: they share this computer's processors with
// what they attack, which they would not on the internet.
package hostile
