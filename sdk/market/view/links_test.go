package view

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
)

// A relation says the same whether it was made before all accounts came or after.
func TestLinksDoNotDependOnWhenTheyAreMade(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		early, late := New(Options{}), New(Options{})
		small := func(name string) solana.PublicKey {
			return solana.PublicKey{byte(rapid.IntRange(1, 3).Draw(t, name)), 9}
		}
		ask := func(v *View, key solana.PublicKey) []any {
			return []any{
				v.NodesOf(key), v.LeasesOfProvider(key), v.LeasesOfCustomer(key), v.OrdersOf(key), v.DevicesOf(key), v.FaultsOf(key),
			}
		}
		ask(early, solana.PublicKey{})
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			key := solana.PublicKey{byte(rapid.IntRange(1, 8).Draw(t, "key"))}
			var value any
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				n := &market.Node{Meta: market.Meta{Address: key}}
				n.Node.Provider = small("provider")
				value = n
			case 1:
				l := &market.Lease{Meta: market.Meta{Address: key}}
				l.Lease.Provider, l.Customer = small("provider"), small("customer")
				value = l
			case 2:
				o := &market.Order{Meta: market.Meta{Address: key}}
				o.Customer = small("customer")
				value = o
			case 3:
				value = &market.Device{Meta: market.Meta{Address: key}, Identity: [32]byte{key[0]}, Node: small("node")}
			case 4:
				f := &market.Fault{Meta: market.Meta{Address: key}}
				f.Fault.Node, f.Fault.Provider = small("node"), small("provider")
				if rapid.Bool().Draw(t, "has a lease") {
					f.Fault.Lease = small("lease")
				}
				value = f
			}
			early.Put(key, value)
			late.Put(key, value)
		}
		for i := range byte(3) {
			key := solana.PublicKey{i + 1, 9}
			require.Equal(t, ask(early, key), ask(late, key))
		}
	})
}

// follower is a listener that repeats what the view holds.
type follower map[solana.PublicKey]any

func (f follower) Put(key solana.PublicKey, value any) { f[key] = value }

func (f follower) Remove(key solana.PublicKey, value any) {
	if f[key] != value {
		panic("the removed account was not there")
	}
	delete(f, key)
}

// A listener that adds what is put and drops what is removed holds the accounts of the view.
func TestAListenerFollows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := follower{}
		v := New(Options{Listeners: []Listener{f}})
		for range rapid.IntRange(0, 30).Draw(t, "steps") {
			key := solana.PublicKey{byte(rapid.IntRange(1, 4).Draw(t, "key"))}
			if rapid.Bool().Draw(t, "closes") {
				v.Put(key, nil)
				continue
			}
			v.Put(key, &market.Node{Meta: market.Meta{Address: key, Slot: rapid.Uint64().Draw(t, "slot")}})
		}
		v.Read(func(a *Accounts) { require.Equal(t, map[solana.PublicKey]any(f), a.all) })
	})
}
