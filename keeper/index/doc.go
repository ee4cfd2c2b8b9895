// Package index keeps the accounts of the market in memory, decoded and linked, so that a keeper decides without asking
// the chain: the watcher's events go in, pure functions look at the View.
//
// Decoded accounts are never changed after they were put in: whoever read a pointer may keep it.
package index
