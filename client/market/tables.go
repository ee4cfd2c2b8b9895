package market

import "github.com/gagliardetto/solana-go"

type keySet map[solana.PublicKey]struct{}

// index maps a key to the accounts that name it.
type index map[solana.PublicKey]keySet

func (x index) add(key, account solana.PublicKey) {
	set, ok := x[key]
	if !ok {
		set = keySet{}
		x[key] = set
	}
	set[account] = struct{}{}
}

func (x index) remove(key, account solana.PublicKey) {
	delete(x[key], account)
	if len(x[key]) == 0 {
		delete(x, key)
	}
}

// tables are the accounts by address and by what they refer to.
type tables struct {
	all    map[solana.PublicKey]Decoded
	byKind map[Kind]keySet
	refs   map[Kind]index // accounts of a kind by every key that they refer to
}

func newTables() tables {
	return tables{all: map[solana.PublicKey]Decoded{}, byKind: map[Kind]keySet{}, refs: map[Kind]index{}}
}

// references lists the keys by which an account is looked up, apart from its address.
func references(d Decoded) []solana.PublicKey {
	switch v := d.Value.(type) {
	case *Provider:
		return []solana.PublicKey{v.Wallet}
	case *Node:
		return []solana.PublicKey{v.Provider, v.NodeKey}
	case *Keeper:
		return []solana.PublicKey{v.Wallet}
	case *Order:
		return []solana.PublicKey{v.Customer}
	case *Lease:
		return []solana.PublicKey{v.Order, v.Node, v.Provider, v.Customer, v.NodeKey}
	case *Fault:
		if v.HasLease() {
			return []solana.PublicKey{v.Node, v.Provider, v.Lease}
		}
		return []solana.PublicKey{v.Node, v.Provider}
	case *Dispute:
		return []solana.PublicKey{v.Lease, v.Node, v.Customer}
	case *Auction:
		return []solana.PublicKey{v.Order}
	case *Device:
		return []solana.PublicKey{v.Node}
	case *FraudProof:
		return []solana.PublicKey{v.FraudProof.Node, v.Finder}
	}
	return nil
}

func (t *tables) insert(key solana.PublicKey, d Decoded) {
	t.all[key] = d
	if t.byKind[d.Kind] == nil {
		t.byKind[d.Kind], t.refs[d.Kind] = keySet{}, index{}
	}
	t.byKind[d.Kind][key] = struct{}{}
	for _, ref := range references(d) {
		t.refs[d.Kind].add(ref, key)
	}
}

func (t *tables) remove(key solana.PublicKey) Decoded {
	d, ok := t.all[key]
	if !ok {
		return Decoded{}
	}
	delete(t.all, key)
	delete(t.byKind[d.Kind], key)
	for _, ref := range references(d) {
		t.refs[d.Kind].remove(ref, key)
	}
	return d
}

// get returns a copy of the account at an address when it is of this type.
func get[T any](v *View, key solana.PublicKey) (T, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if p, ok := v.t.all[key].Value.(*T); ok {
		return *p, true
	}
	var zero T
	return zero, false
}

// list returns copies of all accounts of a kind, sorted by address.
func list[T any](v *View, kind Kind) []T {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return collect[T](&v.t, v.t.byKind[kind])
}

// referring returns copies of the accounts of a kind that refer to a key, sorted by address.
func referring[T any](v *View, kind Kind, key solana.PublicKey) []T {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return collect[T](&v.t, v.t.refs[kind][key])
}

func collect[T any](t *tables, keys keySet) []T {
	out := make([]T, 0, len(keys))
	for _, key := range sorted(keys) {
		if p, ok := t.all[key].Value.(*T); ok {
			out = append(out, *p)
		}
	}
	return out
}
