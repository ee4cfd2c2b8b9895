// Package committee draws, for each node and period, the few keepers that check it.
//
// A draw is a pure function of three inputs: a seed that nobody knows long before the period, the node's account, and
// the keepers' weights. So every keeper, and every auditor, draws the same committee. docs/protocol/committees.md
// explains why a committee alone may never decide over money or stake, and with what probability it consists of
// dishonest keepers.
package committee
