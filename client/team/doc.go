// Package team keeps who may use a server that spends for a customer: members with their roles, tokens that end, budgets, and
// the log of what they have changed.
//
// All of it is in the server's folder:
//
//	team.json     members, tokens (their hashes) and budgets; replaced in one step
//	team.log      a line for what is about to be changed and one for its result, each with the hash of the line before
//	team.head     number and hash of the last line
//	team.lock     locked while one of them is written
//	budgets/      the session keys of the budgets
//
// The server and the command line change it at the same time; the lock is held for a change, never between two.
//
// What a budget may spend is not here: it is the cap of its session key, on chain.
package team
