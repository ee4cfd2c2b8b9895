// Package chain is the market program in memory, for simulations: it takes the same instructions and follows the same
// rules as far as reports, faults, awards and payments go, and refuses with the same codes.
//
// It is a model. What it leaves out: token accounts and rents (amounts are only counted), sealed auctions, disputes,
// outputs, appeals, receipts, rewards, and everything of providers and governance after the start. Formulas are those
// of sdk/market, which shared vectors keep equal to the program's, as are settling and windows here; rules that have
// no twin there name the file that they follow.
//
// An account that was handed out never changes: a change makes a new one.
package chain
