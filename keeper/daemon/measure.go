package daemon

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/market/instant"
	"github.com/gantry-market/gantry/keeper/measure"
)

// openMeasure makes what measures nodes.
func (k *Keeper) openMeasure() (*measure.Member, error) {
	return measure.New(measure.Options{
		Domain: k.domain, Network: measure.Peers{Node: k.node}, Now: k.now, Log: k.component("measurements"),
		Owes: func(node solana.PublicKey, at instant.Instant) bool { return k.checker.Owes(node, at) },
	})
}
