// Package group says whether enough machines of a group run, by its leases on chain, and ends the others where too few have for too long.
package group
