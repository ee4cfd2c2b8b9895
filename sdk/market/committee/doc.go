// Package committee draws, for each node and period, the few keepers that check it.
//
// A draw is a pure function of a seed that nobody knows long before the period, of the node's account and of the
// keepers' weights, so that every keeper, and every auditor, draws the same. docs/protocol/committees.md says why a
// committee alone may never decide over money or stake, and with what probability it consists of dishonest keepers.
package committee
