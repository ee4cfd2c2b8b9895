package daemon

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market/roles"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// networkConfig is how a keeper takes part in the network. local is a cluster on this machine.
func (k *Keeper) networkConfig(local bool) p2p.Options {
	c := p2p.Options{
		Key: k.signer, Names: roles.Names{View: k.view}, Listen: []string{k.c.Listen}, UserAgent: "gantry-keeper", Known: k.mayConnect, Allow: k.allowance, PublicOnly: chain.ClusterOf(k.genesis) != chain.ClusterLocal, Log: k.component("network"),
	}
	if k.c.Announce != "" {
		c.Announce = []string{k.c.Announce}
	}
	return c.ForKeeper(local)
}

// allowance is how many bytes of answers a key may take.
func (k *Keeper) allowance(key solana.PublicKey) p2p.Allowance {
	if k.roles.Role(key, records.Period(k.now().Unix()/int64(k.secs))).May(roles.Agree) {
		return p2p.ForKeepers()
	}
	return p2p.ForMembers()
}

// mayConnect reports whether a key takes part in the market. Until the chain has been read, any may connect.
func (k *Keeper) mayConnect(key solana.PublicKey) bool {
	select {
	case <-k.watcher.Ready():
	default:
		return true
	}
	return k.roles.Role(key, records.Period(k.now().Unix()/int64(k.secs))).May(roles.Connect)
}
