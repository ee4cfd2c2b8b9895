package daemon

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/keeper/check"
	"github.com/gantry-market/gantry/keeper/measure"
)

// openMeasure makes what measures nodes; nil where the operator does not want that.
func (k *Keeper) openMeasure() (check.Measurer, error) {
	if !k.c.Measure {
		return nil, nil
	}
	m, err := measure.New(measure.Options{
		Domain: k.domain, Network: measure.Peers{Node: k.node}, Now: k.now, Log: k.component("measurements"),
		Owes: func(node solana.PublicKey, at instant.Instant) bool { return k.checker.Owes(node, at) },
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}
