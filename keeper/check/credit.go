package check

import "github.com/gagliardetto/solana-go"

// credit bounds how much work another keeper can cause here by signing failed checks. Verifying one costs it one unit;
// it gets two back when it was right, so that a real outage, however large, is followed as fast as it is confirmed, and
// one that does not gives nothing: a keeper that fails everybody costs its start, and half of that again in every
// period.
type credit struct {
	left  map[solana.PublicKey]int
	start int
}

// creditStart is what everyone begins with: this and one for every hundred nodes.
const creditStart = 16

func newCredit() *credit {
	return &credit{left: map[solana.PublicKey]int{}, start: creditStart}
}

// period gives half of the start to everyone that has less than it.
func (c *credit) period(nodes int) {
	c.start = creditStart + nodes/100
	for by, n := range c.left {
		if n < c.start {
			c.left[by] = min(n+c.start/2, c.start)
		}
	}
}

// of returns the credit of another keeper.
func (c *credit) of(by solana.PublicKey) int {
	if n, ok := c.left[by]; ok {
		return n
	}
	return c.start
}

func (c *credit) spend(by solana.PublicKey) bool {
	n := c.of(by)
	if n <= 0 {
		return false
	}
	c.left[by] = n - 1
	return true
}

// resolve takes the result of verifying a failed check.
func (c *credit) resolve(by solana.PublicKey, right bool, most int) {
	if right {
		c.left[by] = min(c.of(by)+2, max(most, c.start))
	}
}
