// Package match finds the best nodes for an order among tens of thousands, with the program's own rules and the
// market's own order of preference: the lowest score, then the higher reputation, then the smaller sha256(order ‖
// node).
//
// Nodes that could be awarded lie in classes of equal hardware, place and evidence, and in a class in lists by free
// GPUs, sorted by preference. A search looks at the heads of the classes that suit, in arrays by column, and goes into
// a list only as far as it could still better what it has. Nodes that stand together have lists by site besides.
//
// A score depends on reputation, and that on age, so it changes without an account changing: each placed node knows
// until when its reputation is right, and a search at a later time first moves those whose time has come, two or three
// a second among 40,000.
//
// The answer is exactly that of a scan over all nodes; tests compare the two. Ties are the one thing that no index can
// keep: where many nodes have the very same score and reputation, each is hashed with the order.
package match
