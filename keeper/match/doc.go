// Package match finds the best nodes for an order among tens of thousands. It uses the program's own rules and the
// market's own order of preference: the lowest score, then the higher reputation, then the smaller sha256(order ‖
// node).
//
// Nodes that could be awarded are in classes of equal hardware, place and evidence. Each class has lists by free GPUs,
// sorted by preference. A search reads the heads of the classes that fit, in arrays by column. It reads further into a
// list only while that could improve its result. Nodes that stand together also have lists by site.
//
// A score depends on reputation, and reputation depends on age. So a score changes although no account changes. Each
// placed node knows until when its reputation is right. A later search first moves the nodes whose time has come: two
// or three a second among 40,000.
//
// The answer is exactly that of a scan over all nodes; tests compare the two. An index cannot order ties. Where many
// nodes have the very same score and reputation, each is hashed with the order.
package match
