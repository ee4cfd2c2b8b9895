package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/inference"
)

// Actor acts for the customer with the session key of one budget.
type Actor struct {
	Session   solana.PublicKey
	Buyer     Buyer
	Extender  Extender
	Forwarder Forwarder
	Outputs   Outputs
	Machines  Machines
	Clusters  Clusters
}

// Budgets are those of a team, the server's own included. It is safe for concurrent use.
type Budgets interface {
	// Actor acts with a budget's key. Error: team.ErrUnknown.
	Actor(budget string) (Actor, error)
	// Bought is the budget from which an order was bought by this server; empty for none.
	Bought(order solana.PublicKey) (budget string, err error)
}

// actor acts with a budget's key.
func (s *Server) actor(budget string) (Actor, error) {
	if budget == "" || budget == team.MainBudget || s.o.Budgets == nil {
		return Actor{s.o.Session, s.o.Buyer, s.o.Extender, s.o.Forwarder, s.o.Outputs, s.o.Machines, s.o.Clusters}, nil
	}
	a, err := s.o.Budgets.Actor(budget)
	if errors.Is(err, team.ErrUnknown) {
		return a, problem(http.StatusConflict, err.Error(), "ask an owner of the team for another budget")
	}
	if err != nil {
		return a, failed(err)
	}
	return a, nil
}

// actorOfCaller acts with the key of the caller's budget.
func (s *Server) actorOfCaller(ctx context.Context) (Actor, error) {
	c, _ := callerOf(ctx)
	return s.actor(c.Budget)
}

// ofLease is one of the customer's leases, and who acts on it: with the key with which it was bought, or the server's own.
// Without read, a lease of a budget that is not the caller's is refused to all but owners.
func (s *Server) ofLease(ctx context.Context, id solana.PublicKey, read bool) (service.Lease, Actor, error) {
	l, err := s.o.Service.Lease(ctx, s.o.Customer, id)
	if err != nil {
		return l, Actor{}, failed(err)
	}
	budget := ""
	if s.o.Budgets != nil {
		order, err := solana.PublicKeyFromBase58(l.Order)
		if err == nil {
			budget, err = s.o.Budgets.Bought(order)
		}
		if err != nil {
			return l, Actor{}, failed(err)
		}
	}
	if !read {
		if p := otherBudget(ctx, "lease "+l.Address, budget); p != nil {
			return l, Actor{}, p
		}
	}
	a, err := s.actor(budget)
	return l, a, err
}

// actorOf is who acts on a lease, as ofLease says. Without budgets there is one, which looks for the lease itself.
func (s *Server) actorOf(ctx context.Context, id solana.PublicKey, read bool) (Actor, error) {
	if s.o.Budgets == nil {
		return s.actor("")
	}
	_, a, err := s.ofLease(ctx, id, read)
	return a, err
}

// ReplicaOrder is what a deployment's replicas are bought with.
type ReplicaOrder struct {
	OrderRequest
	Budget string `json:"budget,omitempty"`
}

// budgetOf is the budget of a deployment.
func budgetOf(spec inference.Spec) string {
	var r ReplicaOrder
	if json.Unmarshal(spec.Order, &r) != nil || r.Budget == "" {
		return team.MainBudget
	}
	return r.Budget
}
