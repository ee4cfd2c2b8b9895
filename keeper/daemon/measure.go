package daemon

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market/instant"
)

// openMeasure makes what measures nodes; nil where none is measured.
func (k *Keeper) openMeasure() (check.Measurer, error) {
	if k.c.Simulation.Unmeasured {
		return nil, nil
	}
	return measure.New(measure.Options{
		Domain: k.domain, Network: measure.Peers{Node: k.node}, Log: k.component("measurements"),
		Owes: func(node solana.PublicKey, at instant.Instant) bool { return k.checker.Owes(node, at) },
	})
}
