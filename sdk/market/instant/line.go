package instant

import (
	"crypto/sha256"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/records"
)

// LineWindow is how many periods make a window, in each of which the line of a node is checked once: a day, where periods have
// an hour. On local networks, with periods of seconds, it is shorter.
func LineWindow(secs uint32) uint8 {
	if secs < 60 {
		return 12
	}
	return 24
}

// WindowOf is the first period of the window that a period lies in.
func WindowOf(p records.Period, secs uint32) records.Period {
	return p - p%records.Period(LineWindow(secs))
}

// DrawsLine reports whether the instant draws a node's line: of the periods that are left of a window each is as likely. The
// first instant of the window that draws a node is the one that counts; later ones may draw it again.
func (i Instant) DrawsLine(node solana.PublicKey, secs uint32) bool {
	left := uint64(LineWindow(secs)) - uint64(i.Period-WindowOf(i.Period, secs))
	return oneIn(sha256.Sum256(slices.Concat(i.Seed[:], node[:], []byte("line"))), left)
}
