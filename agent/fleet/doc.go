// Package fleet has the machines of one owner in one file, and reaches them from the owner's computer. The owner's wallet stays
// there; each machine's key stays on the machine, which signs its own registration after it has looked at what it signs.
package fleet
