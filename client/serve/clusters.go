package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/sdk/market"
)

// endAnswer is the time that a request keeps for its answer. Before that it stops waiting for the leases of a cluster to end.
const endAnswer = 10 * time.Second

// Clusters shows and ends clusters that were bought with one key. Its methods are safe for concurrent use. A text names a cluster
// by the key of its purchase, or by its order.
type Clusters interface {
	// Clusters are all of them, the latest first.
	Clusters(ctx context.Context) ([]buy.Cluster, error)
	// Cluster is one of them. Error: buy.ErrNoCluster.
	Cluster(ctx context.Context, text string) (buy.Cluster, error)
	// ScaleCluster adds machines to one until so many run, and returns when they do. agree, which may be nil, is asked before an order is
	// sent. Errors: buy.ErrNoCluster, that of agree.
	ScaleCluster(ctx context.Context, text string, nodes int, agree func(buy.Addition) error) (buy.Scaled, error)
	// EndCluster ends one, and says what is left after a time. Error: buy.ErrNoCluster.
	EndCluster(ctx context.Context, text string, within time.Duration) (buy.Cluster, error)
}

// ClusterRequest is what a cluster asks for: an order over several machines that run containers.
type ClusterRequest struct {
	OrderRequest
	buy.ClusterType
}

// Order is the order that buys the cluster. Error: a [service.Failure] for a request that would not become one.
func (r ClusterRequest) Order() (OrderRequest, error) {
	order := buy.Request(r.OrderRequest)
	if err := r.Apply(&order); err != nil {
		return OrderRequest{}, err
	}
	if err := order.Check(); err != nil {
		return OrderRequest{}, err
	}
	return OrderRequest(order), nil
}

// MachineCluster is a cluster as it is now.
type MachineCluster struct {
	buy.Cluster
}

// MachineClusters are clusters that this server's keys have bought.
type MachineClusters struct {
	Clusters []MachineCluster `json:"clusters" doc:"The latest first, also those that are over"`
}

type createClusterInput struct {
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Names the purchase, and so the cluster"`
	Body ClusterRequest
}

type clusterInput struct {
	ID string `path:"id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Name of the cluster, or address of its order"`
}

type clusterOutput struct {
	Status int
	Body   MachineCluster
}

// registerClusters adds the operations.
func (s *Server) registerClusters(api huma.API, create huma.Operation) {
	huma.Register(api, read("list-clusters", "/v1/clusters", "Clusters with their members"), s.listClusters)
	huma.Register(api, read("get-cluster", "/v1/clusters/{id}", "One cluster with its members"), s.getCluster)
	create.OperationID, create.Path, create.Summary = "create-cluster", "/v1/clusters", "Buy machines with a private network, all or none"
	create.Description = "Its Idempotency-Key is the cluster's name. A repeated request with it never buys twice: it continues the purchase, and answers with the cluster."
	create.Errors = slices.Clone(create.Errors)
	huma.Register(api, create, s.createCluster)
	later(api.OpenAPI().Paths[create.Path].Post, "201", "The purchase continues; repeat the request to learn more")
	s.registerScale(api, create)
	end := create
	end.OperationID, end.Method, end.Path, end.Summary = "end-cluster", http.MethodDelete, "/v1/clusters/{id}", "End a cluster: all its leases; what is not used comes back"
	end.Description = "A purchase that goes on is broken off. A lease that has not started cannot be ended before: left names it, and the request is to be repeated."
	end.DefaultStatus, end.Errors = http.StatusOK, slices.Clone(create.Errors)
	huma.Register(api, end, s.endCluster)
	later(api.OpenAPI().Paths[end.Path].Delete, "200", "It is not over yet: left says why; repeat the request")
}

func clusterFailed(id string, err error) error {
	if errors.Is(err, buy.ErrNoCluster) {
		return problem(http.StatusNotFound, fmt.Sprintf("this server has bought no cluster %q", id), "see /v1/clusters")
	}
	return failed(err)
}

// clustersOf acts with the keys of all budgets that the server has, or why it has none.
func (s *Server) clustersOf() (map[string]Clusters, error) {
	out := map[string]Clusters{}
	if s.o.Clusters != nil {
		out[team.MainBudget] = s.o.Clusters
	}
	if s.o.Team != nil && s.o.Budgets != nil {
		t, err := s.o.Team.Team()
		if err != nil {
			return nil, failed(err)
		}
		for _, b := range t.Budgets {
			a, err := s.actor(b.Name)
			if err != nil { // a budget whose key is damaged hides no other
				s.o.Log.Warn().Err(err).Str("budget", b.Name).Msg("clusters of a budget are not shown")
				continue
			}
			if a.Clusters != nil {
				out[b.Name] = a.Clusters
			}
		}
	}
	if len(out) == 0 {
		return nil, problem(http.StatusServiceUnavailable, "this server has no clusters", "start it with gantry serve")
	}
	return out, nil
}

func (s *Server) listClusters(ctx context.Context, _ *struct{}) (*reply[MachineClusters], error) {
	of, err := s.clustersOf()
	if err != nil {
		return nil, err
	}
	out := MachineClusters{Clusters: []MachineCluster{}}
	for _, budget := range slices.Sorted(maps.Keys(of)) {
		all, err := of[budget].Clusters(ctx)
		if err != nil {
			return nil, failed(err)
		}
		for _, c := range all {
			out.Clusters = append(out.Clusters, MachineCluster{c})
		}
	}
	slices.SortStableFunc(out.Clusters, func(a, b MachineCluster) int { return int(b.Created - a.Created) })
	return &reply[MachineClusters]{out}, nil
}

// named is a cluster, and the budget that pays it. A name is the caller's budget's own; an order is found in any.
func (s *Server) named(ctx context.Context, id string) (c buy.Cluster, budget string, by Clusters, err error) {
	of, err := s.clustersOf()
	if err != nil {
		return c, "", nil, err
	}
	caller, _ := callerOf(ctx)
	budgets := []string{caller.Budget}
	if _, err := solana.PublicKeyFromBase58(id); err == nil || of[caller.Budget] == nil {
		budgets = slices.Sorted(maps.Keys(of))
	}
	err = buy.ErrNoCluster
	for _, budget := range budgets {
		if c, err = of[budget].Cluster(ctx, id); !errors.Is(err, buy.ErrNoCluster) {
			return c, budget, of[budget], err
		}
	}
	return c, "", nil, err
}

func (s *Server) getCluster(ctx context.Context, in *clusterInput) (*reply[MachineCluster], error) {
	c, _, _, err := s.named(ctx, in.ID)
	if errors.Is(err, buy.ErrNoCluster) && s.orders.runs(budgetOfCaller(ctx), in.ID) {
		return &reply[MachineCluster]{MachineCluster{buy.BegunCluster(in.ID)}}, nil // its order is not written yet
	}
	if err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	return &reply[MachineCluster]{MachineCluster{c}}, nil
}

func budgetOfCaller(ctx context.Context) string {
	c, _ := callerOf(ctx)
	return c.Budget
}

func (s *Server) createCluster(ctx context.Context, in *createClusterInput) (*clusterOutput, error) {
	a, err := s.actorOfCaller(ctx)
	if err != nil {
		return nil, err
	}
	if a.Clusters == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server has no clusters", "start it with gantry serve")
	}
	order, err := in.Body.Order()
	if err != nil {
		return nil, failed(err)
	}
	out, err := s.orders.buy(ctx, a.Buyer, budgetOfCaller(ctx), in.Key, order, waitFor)
	if err != nil {
		return nil, failed(err)
	}
	bought(ctx, out)
	status := http.StatusAccepted
	if out.Phase == phaseBought {
		status = http.StatusCreated
		if err := s.o.Service.Await(ctx, out.Leases...); err != nil {
			return nil, failed(err)
		}
	}
	c, err := a.Clusters.Cluster(ctx, cmp.Or(out.Order, in.Key))
	switch {
	case err == nil:
		return &clusterOutput{status, MachineCluster{c}}, nil
	case status == http.StatusAccepted && errors.Is(err, buy.ErrNoCluster):
		return &clusterOutput{status, MachineCluster{buy.BegunCluster(in.Key)}}, nil
	}
	return nil, clusterFailed(in.Key, err)
}

func (s *Server) endCluster(ctx context.Context, in *clusterInput) (*clusterOutput, error) {
	c, budget, by, err := s.named(ctx, in.ID)
	if errors.Is(err, buy.ErrNoCluster) {
		if err = s.orders.breakOff(ctx, budgetOfCaller(ctx), in.ID); err == nil {
			c, budget, by, err = s.named(ctx, in.ID)
		}
	}
	if err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	if p := otherBudget(ctx, "the cluster "+in.ID, budget); p != nil {
		return nil, p
	}
	if err := s.orders.breakOffCluster(ctx, budget, &c); err != nil {
		return nil, failed(err)
	}
	within := answerWithin - endAnswer
	if end, ok := ctx.Deadline(); ok { // the purchase took time to stop
		within = time.Until(end) - endAnswer
	}
	if c, err = by.EndCluster(ctx, c.Order, within); err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	if len(c.Left) > 0 {
		return &clusterOutput{http.StatusAccepted, MachineCluster{c}}, nil
	}
	var over []service.Lease
	for _, m := range c.Members {
		if m.Status == market.LeaseEnded.String() {
			over = append(over, service.Lease{Address: m.Lease, EndedAt: 1}) // any time: it is over
		}
	}
	if err := s.o.Service.Await(ctx, over...); err != nil {
		return nil, failed(err)
	}
	return &clusterOutput{http.StatusOK, MachineCluster{c}}, nil
}
