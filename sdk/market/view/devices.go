package view

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
)

// HolderOf is the node that has claimed a device; false when no node has.
func (v *Accounts) HolderOf(device [32]byte) (solana.PublicKey, bool) {
	d, ok := v.Devices[device]
	if !ok {
		return solana.PublicKey{}, false
	}
	return d.Node, true
}

// ClaimsKnown reports whether all device claims that the node holds are in the view.
func (v *Accounts) ClaimsKnown(n *market.Node) bool {
	return v.DevicesOfNode[n.Address]+int(n.ClaimsMissing) >= int(n.Spec.Gpus)
}

// Registered are the identities of the devices that a node registered; nil when they are not known. Of a node that
// holds all its claims they are the claimed devices; of another they are the devices that it has shown (see Shown).
func (v *Accounts) Registered(n *market.Node) [][32]byte {
	if n.ClaimsMissing > 0 {
		return v.shown[n.Address]
	}
	if !v.ClaimsKnown(n) {
		return nil
	}
	var out [][32]byte
	for id, d := range v.Devices {
		if d.Node == n.Address {
			out = append(out, id)
		}
	}
	return out
}

// Shown notes what a node that misses claims has shown as the devices that it registered: no account says which they
// are.
func (v *View) Shown(node solana.PublicKey, devices [][32]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if n, ok := v.accounts.Nodes[node]; ok && n.ClaimsMissing > 0 && market.DeviceRoot(devices) == n.DeviceRoot {
		v.accounts.shown[node] = devices
	}
}

// Proven notes the keys that GPUs have proven in a node's evidence: no account says which they are.
func (v *View) Proven(node solana.PublicKey, keys [][32]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, ok := v.accounts.Nodes[node]; ok && len(keys) > 0 {
		v.accounts.proven[node] = market.SortDevices(keys)
	}
}

// GPUKeys are the keys of a node's GPUs by the evidence that its account names, in ascending order; nil when they are not
// known.
func (v *Accounts) GPUKeys(n *market.Node) [][32]byte {
	if keys := v.proven[n.Address]; market.NamesKeys(n.EvidenceHash, keys) {
		return keys
	}
	return nil
}
