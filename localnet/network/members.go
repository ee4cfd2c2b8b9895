package network

import (
	"fmt"
	"os"

	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
)

// State describes the network for people and for other commands.
func (n *Network) State() State {
	s := State{
		PID: os.Getpid(), Engine: string(n.cfg.Engine), RPC: n.At.RPC, WS: n.At.WS, Genesis: n.At.Genesis.String(),
		Program: market.ProgramID, PaymentMint: n.Keys.PaymentMint, StakeMint: n.Keys.StakeMint,
	}
	wallet := func(w seed.Wallet, detail string) Member {
		return Member{Name: w.Name, Address: w.Address(), Keypair: w.Path, Detail: detail}
	}
	for _, k := range n.Keys.Keepers {
		m := wallet(k, "keeper, bond "+market.GNT(seed.Bond).String()+" GNT")
		m.Log = n.sup.LogPath(k.Name)
		s.Keepers = append(s.Keepers, m)
	}
	for _, p := range n.Keys.Providers {
		s.Providers = append(s.Providers, wallet(p, "provider"))
	}
	for _, m := range n.Nodes {
		member := wallet(m.Key, m.Detail()+", of "+m.Owner.Name)
		member.Address, member.Log = m.Address, n.sup.LogPath(m.Name)
		s.Nodes = append(s.Nodes, member)
	}
	for _, c := range n.Keys.Customers {
		s.Customers = append(s.Customers, wallet(c, fmt.Sprintf("customer, %s USDC at the start", market.USDC(seed.CustomerUSDC))))
	}
	return s
}
