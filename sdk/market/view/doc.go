// Package view is the live copy of the market: every account decoded, linked and up to date, so that a program decides
// without asking the chain. A View follows the chain by Run, or takes events of a watcher by Apply.
//
// There are two ways to read it. The methods of View return copies, sorted, for programs that look at a few accounts.
// Read gives the Accounts themselves, for programs that look at many under one lock, such as keepers. Decoded accounts
// are never changed after they were put in: a reader may keep a pointer.
package view
