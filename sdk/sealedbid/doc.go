// Package sealedbid has the rules of sealed auctions that keepers, agents and auditors share: how a bid is checked,
// which bids win and what they are paid, and the Merkle root of all bids that is recorded on chain.
//
// Everything here is a pure function of its arguments. Keepers that hold the same bids and see the same accounts choose
// the same winners, and an auditor who has the published bids finds the same again. The rules are the program's
// (program/src/instructions/auction/auction_award.rs): what is chosen here is not refused there.
package sealedbid
