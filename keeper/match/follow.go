package match

import (
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// A Matcher follows a View as one of its listeners.
var _ view.Listener = (*Matcher)(nil)

// Of returns a matcher with the nodes, providers and models that are there now. It does not follow them.
func Of(a *view.Accounts) *Matcher {
	m := New()
	for key, n := range a.Nodes {
		m.PutNode(key, n)
	}
	for key, p := range a.Providers {
		m.PutProvider(key, p)
	}
	for id, model := range a.Models {
		m.PutModel(id, model)
	}
	return m
}

// Put takes an account of the view; those that no order is matched by are left out.
func (m *Matcher) Put(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Node:
		m.PutNode(key, a)
	case *market.Provider:
		m.PutProvider(key, a)
	case *market.Model:
		m.PutModel(a.Id, a)
	}
}

// Remove takes an account out.
func (m *Matcher) Remove(key solana.PublicKey, value any) {
	switch a := value.(type) {
	case *market.Node:
		m.RemoveNode(key)
	case *market.Provider:
		m.RemoveProvider(key)
	case *market.Model:
		m.RemoveModel(a.Id)
	}
}
