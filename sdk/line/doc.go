// Package line has what both sides of a check of a node's line share: how much data is moved, what the bytes are, and
// how to compute the rate from the times of sending and answering. docs/adr/0027-lines.md explains why.
//
// The side that measures is a keeper. It sends items of one kind and gets items of the other kind as answers. Blocks
// are answered with their hash (down, towards the node). Seeds are answered with the block that is expanded from them
// (up).
//
// Nobody can answer an item before it has the item. So n blocks between the sending of the first and the answer to the
// last are a lower bound of the line's rate in that time. This holds whatever the node, or a buffer on its path, holds
// back.
package line

import "time"

// What one check moves in each direction.
const (
	// Block is the size of a block in bytes; SeedBytes and HashBytes are those of what answers it, or asks for it.
	Block     = 128 << 10
	SeedBytes = 32
	HashBytes = 32
	// Blocks is how many blocks a direction has, InFlight how many of them may wait for their answer: 2 MiB, so that
	// a round trip of 80 ms bounds the figure at 200 Mbit/s.
	Blocks   = 48
	InFlight = 16
	// Limit is how long a direction may take. A line that has not moved all blocks by then is judged by those that it has.
	Limit = 10 * time.Second
)

// PerCheck is how many bytes a check moves at most, both directions and what answers them: a little more than 12 MiB.
const PerCheck = 2 * Blocks * (Block + HashBytes)

// PerDay is how many bytes all members of a committee together move with one node in a day at most.
const PerDay = 64 << 20
