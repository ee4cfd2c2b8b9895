package daemon

import (
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/line"
)

// openLine makes what measures nodes' lines; nil where the operator does not want that.
func (k *Keeper) openLine() (check.Liner, error) {
	if !k.c.Lines || k.c.Simulation.Unmeasured {
		return nil, nil
	}
	m, err := line.New(line.Options{Network: line.Peers{Node: k.node}})
	if err != nil {
		return nil, err
	}
	return m, nil
}
