package roles

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// Names are the names of the market's members as peers: a keeper is named by its wallet and has the key of its signer.
// All others are named by the key that they have. It implements p2p.Names.
type Names struct{ View View }

// Keys are the keys of a keeper about any period: a records.Keys for records that are about none.
func (n Names) Keys(keeper solana.PublicKey, _ records.Period) (keys []solana.PublicKey) {
	n.View.Read(func(v *view.Accounts) {
		if k, ok := v.Keepers[keeper]; ok {
			keys = k.SignersAt(0, 1)
		}
	})
	return keys
}

// Peer is the key that who is named so has as a peer.
func (n Names) Peer(name solana.PublicKey) (key solana.PublicKey) {
	n.View.Read(func(v *view.Accounts) { key = v.SignerOf(name) })
	return key
}

// Name is the name of the peer with a key.
func (n Names) Name(key solana.PublicKey) (name solana.PublicKey) {
	n.View.Read(func(v *view.Accounts) {
		name = key
		if wallet, ok := v.KeeperOfSigner(key); ok {
			name = wallet
		}
	})
	return name
}
