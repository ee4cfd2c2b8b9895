// Package chain is the market program in memory, for simulations. It accepts the same instructions and returns the same
// error codes. It follows the same rules for reports, faults, awards and payments.
//
// It is a model. It leaves out token accounts and rents (amounts are only counted), sealed auctions, disputes, outputs,
// appeals, receipts, rewards, and everything of providers and governance after the start. Formulas are those of
// sdk/market; shared test vectors keep those equal to the program's formulas. The same is true of settling and windows
// here. A comment on each rule that has no counterpart in sdk/market names the file that the rule follows.
//
// An account that was handed out never changes: a change makes a new one.
package chain
