package serve

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/buy"
)

type scaleClusterInput struct {
	ID   string `path:"id" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Name of the cluster, or address of its order"`
	Body struct {
		Nodes int `json:"nodes" minimum:"1" maximum:"64" doc:"How many machines shall run"`
	}
}

// registerScale adds the operation.
func (s *Server) registerScale(api huma.API, create huma.Operation) {
	scale := create
	scale.OperationID, scale.Path, scale.Summary = "scale-cluster", "/v1/clusters/{id}/scale", "Add machines to a cluster until so many run"
	scale.Description = "The new machines have the job of the others, the places behind theirs, and the time that is left. A repeated request never adds twice. " +
		"To have fewer machines, stop the leases of single ones."
	scale.DefaultStatus, scale.Errors = http.StatusOK, slices.Clone(create.Errors)
	huma.Register(api, scale, s.scaleCluster)
	later(api.OpenAPI().Paths[scale.Path].Post, "200", "Machines are being added; repeat the request to learn more")
}

func (s *Server) scaleCluster(ctx context.Context, in *scaleClusterInput) (*clusterOutput, error) {
	c, budget, by, err := s.named(ctx, in.ID)
	if err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	if p := otherBudget(ctx, "the cluster "+in.ID, budget); p != nil {
		return nil, p
	}
	done, err := s.orders.scale(ctx, by, budget, c.Order, in.Body.Nodes, waitFor)
	if err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	if c, err = by.Cluster(ctx, c.Order); err != nil {
		return nil, clusterFailed(in.ID, err)
	}
	status := http.StatusOK
	if !done {
		status = http.StatusAccepted
	}
	return &clusterOutput{status, MachineCluster{c}}, nil
}

// scaling is what the growth of an order's cluster is called among purchases; no key has a space.
func scaling(order string) string { return "scale " + order }

// scale begins to add machines to the cluster of an order or joins who does, and waits for it so long at most.
func (o *orders) scale(ctx context.Context, by Clusters, budget, order string, nodes int, wait time.Duration) (done bool, err error) {
	b, err := o.runScale(by, budget, order, nodes)
	if err != nil {
		return false, err
	}
	if done, err = b.within(ctx, wait); done {
		err = b.err
	}
	return done, err
}

func (o *orders) runScale(by Clusters, budget, order string, nodes int) (*buying, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.open(); err != nil {
		return nil, err
	}
	name, request := budget+"/"+scaling(order), [32]byte{}
	copy(request[:], strconv.Itoa(nodes))
	if b, runs := o.running[name]; runs {
		if b.request != request {
			return nil, problem(http.StatusConflict, "machines are being added to this cluster already", "repeat the request when they run")
		}
		return b, nil
	}
	return o.start(name, request, func(ctx context.Context) (Bought, error) {
		c, err := by.ScaleCluster(ctx, order, nodes, nil)
		return Bought{Order: c.Order}, err
	})
}

// breakOffCluster ends the purchase of a cluster and that of machines for it, as breakOff does.
func (o *orders) breakOffCluster(ctx context.Context, budget string, c *buy.Cluster) error {
	if c.Name != "" {
		if err := o.breakOff(ctx, budget, c.Name); err != nil {
			return err
		}
	}
	return o.breakOff(ctx, budget, scaling(c.Order))
}

// Scale begins to add machines to the cluster of an order until so many run, or joins who does, and waits for it so long at most. done:
// they run. Errors: Failure, Problem, buy.ErrNoCluster.
func (p *Purchases) Scale(ctx context.Context, by Clusters, order string, nodes int, wait time.Duration) (done bool, err error) {
	return p.orders.scale(ctx, by, "", order, nodes, wait)
}

// BreakOffCluster ends the purchase of a cluster and that of machines for it, if they run, and waits for that. What they have come to
// stays.
func (p *Purchases) BreakOffCluster(ctx context.Context, c *buy.Cluster) error {
	return p.orders.breakOffCluster(ctx, "", c)
}
