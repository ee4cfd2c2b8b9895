package crank

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
)

// refreshSecs is how long before the tier of a claim expires the keeper renews it.
const refreshSecs = market.EvidenceSecs / 2

// evidence brings device claims up to what reports say: those that lapse soon, those that are worth less than the
// node's evidence, and those that another node, or none, holds.
func (d *due) evidence() {
	inOrder(d.v.Nodes, func(key solana.PublicKey, n *market.Node) {
		if d.keys(key, n) {
			return // tier 3 stands once they are claimed
		}
		tier := n.TierAt(d.now)
		if tier < 2 || n.DevicesSeen == 0 || n.State() == market.NodeRetired || n.State() == market.NodeSuspended {
			return
		}
		devices := d.v.Registered(n)
		if len(devices) == 0 || market.DeviceRoot(devices) != n.DeviceRoot {
			return // not all of them are known here
		}
		losers, better := d.claims(n, devices, tier)
		if !better {
			return
		}
		instruction, err := ix.NodeSetEvidence(ix.NodeSetEvidenceArgs{Payer: d.signer(), Node: *n, Devices: devices, Losers: losers})
		d.add(Action{Kind: NodeSetEvidence, Key: fmt.Sprintf("%s/%d/%d/%d", key, tier, n.EvidenceExpiry, n.ClaimsMissing)}, instruction, err)
	})
}

// keys claims the keys of a node's GPUs, where tier 3 rests on them and nobody else has one. It reports whether it does.
func (d *due) keys(key solana.PublicKey, n *market.Node) bool {
	if n.Tier < 3 || d.now > n.EvidenceExpiry || n.KeysUntil >= min(d.now+refreshSecs, n.EvidenceExpiry) ||
		n.State() == market.NodeRetired || n.State() == market.NodeSuspended {
		return false
	}
	keys := d.v.GPUKeys(n)
	for _, id := range keys {
		if claim, ok := d.v.Keys[id]; ok && claim.Node != n.Address && claim.TierAt(d.now) == 3 {
			return false
		}
	}
	if len(keys) == 0 {
		return false // not known here
	}
	instruction, err := ix.NodeSetKeys(ix.NodeSetKeysArgs{Payer: d.signer(), Node: *n, Keys: keys})
	d.add(Action{Kind: NodeSetEvidence, Key: fmt.Sprintf("%s/keys/%d", key, n.EvidenceExpiry)}, instruction, err)
	return true
}

// claims returns the nodes that would lose claims, and whether a transaction would change anything.
func (d *due) claims(n *market.Node, devices [][32]byte, tier uint8) (losers []solana.PublicKey, better bool) {
	for _, id := range devices {
		claim, ok := d.v.Devices[id]
		switch {
		case !ok:
			better = true
		case claim.Node != n.Address:
			if claim.TierAt(d.now) < tier {
				losers, better = append(losers, claim.Node), true
			}
		case claim.TierAt(d.now) < tier, claim.Tier <= tier && claim.Expires < min(d.now+refreshSecs, n.EvidenceExpiry):
			better = true
		}
	}
	slices.SortFunc(losers, func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(losers), better
}
