// Package gossip is how keepers talk to each other. They publish statements, manifests, proposals, equivocation proofs
// and bids on topics, and ask each other for what they miss. Messages of a topic are validated before they are passed
// on.
//
// The package decides what is taken and from whom (sdk/market/roles), and hands it to the components that know what
// to do with it. It keeps nothing itself.
package gossip
