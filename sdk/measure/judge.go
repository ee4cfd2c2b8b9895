package measure

import (
	"cmp"
	"errors"
	"fmt"

	format "github.com/gantry-market/gantry/attest/measure"
)

// leastShare is the part of what was promised, in percent, that a measured figure must reach: clocks and lines take the rest.
const leastShare = 70

// ErrSlow means that right answers came too slowly for what was promised.
var ErrSlow = errors.New("the machine is slower than promised")

// Promise is what the figures of each GPU are held against; zero is no promise.
type Promise struct {
	// Operations is int8 operations a second, Bandwidth bytes a second under dependent access.
	Operations, Bandwidth float64
	// Least is the part of it, in percent, that figures must reach; 0 is leastShare.
	Least float64
}

// Hold returns what of the promise figures do not keep. Error: ErrSlow.
func (p Promise) Hold(f format.Figures) error {
	least := cmp.Or(p.Least, leastShare)
	switch {
	case f.Operations < p.Operations*least/100:
		return fmt.Errorf("%w: %.3g int8 operations a second, %d %% of the promised %.3g", ErrSlow, f.Operations, percent(f.Operations, p.Operations), p.Operations)
	case f.Bandwidth < p.Bandwidth*least/100:
		return fmt.Errorf("%w: %.3g bytes of memory a second, %d %% of the promised %.3g", ErrSlow, f.Bandwidth, percent(f.Bandwidth, p.Bandwidth), p.Bandwidth)
	}
	return nil
}

func percent(got, of float64) int { return int(100 * got / of) }
