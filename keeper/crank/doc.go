// Package crank decides what anyone may send to move the market on: apply report leaves, settle, end, expire, abort,
// slash, close. Due is a pure function of the accounts, the time and the final leaf sets; nothing here talks to anyone.
//
// Several keepers crank the same market. Each waits its rank (Rank) before it tries an item, and a refusal that means
// "done already" is a success (Benign).
package crank
