package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/sdk/chain"
)

// budgets act with the session keys of a team: each with its key, its folder of purchases and its membership of the
// network.
type budgets struct {
	ctx  context.Context // of the server
	main *Account        // the server's own key
	own  *extender       // with it
	team *team.Store

	mu     sync.Mutex
	opened map[string]*budget
}

type budget struct {
	*Account
	actor serve.Actor
	rents *extender // what deployments rent, without a prefix of their purchases' names
	end   func()
}

// openBudgets opens the team in the account's folder. What a server before was killed in is said in its log.
func openBudgets(ctx context.Context, a *Account, own *extender) (*budgets, error) {
	t, err := team.Open(a.folder.Dir())
	if err != nil {
		return nil, err
	}
	return &budgets{ctx: ctx, main: a, own: own, team: t, opened: map[string]*budget{}}, t.CloseOpen()
}

// close ends what was opened.
func (b *budgets) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.opened {
		x.end()
	}
	b.opened = nil
}

// Actor implements serve.Budgets.
func (b *budgets) Actor(name string) (serve.Actor, error) {
	x, err := b.named(name)
	if err != nil {
		return serve.Actor{}, err
	}
	return x.actor, nil
}

// Bought implements serve.Budgets.
func (b *budgets) Bought(order solana.PublicKey) (string, error) {
	if has, err := b.main.folder.Has(order); has || err != nil {
		return team.MainBudget, err
	}
	t, err := b.team.Team()
	if err != nil {
		return "", err
	}
	for _, one := range t.Budgets {
		x, err := b.begun(one)
		if err != nil {
			return "", err
		}
		if has, err := x.folder.Has(order); has || err != nil {
			return one.Name, err
		}
	}
	return "", nil
}

// Explain implements service.Attestations, of what all budgets have bought.
func (b *budgets) Explain(w *service.Why) {
	b.main.Explain(w)
	all, err := b.all()
	if err != nil {
		b.main.Log.Warn().Err(err).Msg("what some budgets have bought is not explained")
	}
	for _, x := range all {
		x.Explain(w)
	}
}

// Attestation implements service.Attestations, of what all budgets have bought.
func (b *budgets) Attestation(order, lease string) *service.Attestation {
	if a := b.main.Attestation(order, lease); a != nil {
		return a
	}
	all, err := b.all()
	if err != nil {
		b.main.Log.Warn().Err(err).Msg("what machines have proved to some budgets is not shown")
	}
	for _, x := range all {
		if a := x.Attestation(order, lease); a != nil {
			return a
		}
	}
	return nil
}

// named is a budget of the team. Error: team.ErrUnknown.
func (b *budgets) named(name string) (*budget, error) {
	t, err := b.team.Team()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(t.Budgets, func(one team.Budget) bool { return one.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("budget %q: %w", name, team.ErrUnknown)
	}
	return b.begun(t.Budgets[i])
}

// begun is the account of a budget, which is opened where it is asked for first.
func (b *budgets) begun(one team.Budget) (*budget, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if x, ok := b.opened[one.Name]; ok {
		return x, nil
	}
	x, err := b.open(one)
	if err == nil {
		b.opened[one.Name] = x
	}
	return x, err
}

// open begins the account of a budget.
func (b *budgets) open(one team.Budget) (*budget, error) {
	path := b.team.KeyFile(one.Name)
	key, err := chain.LoadKeypair(path)
	if err != nil {
		return nil, fmt.Errorf("key of the budget %q: %w", one.Name, err)
	}
	if key.PublicKey().String() != one.Key {
		return nil, fmt.Errorf("key of the budget %q: %s has %s, and the team %s", one.Name, path, key.PublicKey(), one.Key)
	}
	a, err := b.main.with(b.ctx, key)
	if err != nil {
		return nil, err
	}
	// A key of an API's request stands for one order of the customer: those of budgets have names of their own.
	by, err := a.acting(b.ctx, httpPurchases+one.Name+"/")
	if err != nil {
		return nil, err
	}
	x, closeExtender, err := a.extender(b.ctx)
	if err != nil {
		return nil, err
	}
	endAttending := by.attend(b.ctx)
	return &budget{
		Account: a, rents: x, end: func() { endAttending(); closeExtender(); a.Close() },
		actor: serve.Actor{Session: key.PublicKey(), Buyer: by, Extender: x, Forwarder: by, Outputs: by, Machines: by, Clusters: by},
	}, nil
}

// resumeInspections continues the inspections that a server before has left, of all budgets.
func (b *budgets) resumeInspections() error {
	all, err := b.all()
	if err != nil { // a budget whose key is damaged keeps no other from what is due
		b.main.Log.Warn().Err(err).Msg("leases of some budgets are not inspected")
	}
	for _, by := range all {
		if err := by.Inspections.Resume(b.ctx, by.b, by.ours); err != nil {
			return err
		}
	}
	return nil
}

// of is who acts with the key of a budget: the server's own for main.
func (b *budgets) of(name string) (*extender, error) {
	if name == "" || name == team.MainBudget {
		return b.own, nil
	}
	x, err := b.named(name)
	if err != nil {
		return nil, err
	}
	return x.rents, nil
}

// all act with the keys of all budgets, the server's own among them.
func (b *budgets) all() ([]*extender, error) {
	out := []*extender{b.own}
	t, err := b.team.Team()
	if err != nil {
		return nil, err
	}
	var bad []error
	for _, one := range t.Budgets {
		x, err := b.begun(one)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		out = append(out, x.rents)
	}
	return out, errors.Join(bad...)
}
