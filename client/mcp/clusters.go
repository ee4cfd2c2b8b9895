package mcp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/messages"
)

// endWait is how long end_cluster waits for leases that have not started before it answers with what is left.
const endWait = 40 * time.Second

type createClusterInput struct {
	Key string `json:"idempotencyKey" jsonschema:"names the purchase, and so the cluster: letters, digits, dots, dashes. Calling again with the same key and request never buys twice; it goes on, and answers with the same cluster"`
	serve.ClusterRequest
}

// CreatedCluster is a cluster, and what is left of the budget.
type CreatedCluster struct {
	Cluster buy.Cluster `json:"cluster"`
	Money   Money       `json:"spending"`
}

func (t *tools) createCluster(ctx context.Context, in createClusterInput) (CreatedCluster, error) {
	if err := checkKey(in.Key); err != nil {
		return CreatedCluster{}, err
	}
	order, err := in.Order()
	if err != nil {
		return CreatedCluster{}, err
	}
	d, err := t.buy(ctx, in.Key, order)
	if err != nil {
		return CreatedCluster{}, err
	}
	id := in.Key
	if d.Purchase.Order != "" {
		id = d.Purchase.Order
	}
	c, err := t.o.Buyer.Cluster(ctx, id)
	if errors.Is(err, buy.ErrNoCluster) && d.Purchase.Order == "" { // its order is not written yet
		c, err = buy.BegunCluster(in.Key), nil
	}
	return CreatedCluster{c, d.Money}, err
}

// Clusters are those that this server has bought.
type Clusters struct {
	Clusters []buy.Cluster `json:"clusters" jsonschema:"the latest first, also those that are over"`
}

func (t *tools) listClusters(ctx context.Context, _ struct{}) (Clusters, error) {
	all, err := t.o.Buyer.Clusters(ctx)
	return Clusters{append([]buy.Cluster{}, all...)}, err
}

type clusterInput struct {
	Cluster string `json:"cluster" jsonschema:"the idempotencyKey of create_cluster, or the address of its order"`
}

func (t *tools) getCluster(ctx context.Context, in clusterInput) (buy.Cluster, error) {
	c, err := t.o.Buyer.Cluster(ctx, in.Cluster)
	if errors.Is(err, buy.ErrNoCluster) {
		err = service.Usage(fmt.Sprintf("there is no cluster %q", in.Cluster), "the tool list_clusters names them")
	}
	return c, err
}

type scaleClusterInput struct {
	clusterInput
	Nodes int `json:"nodes" jsonschema:"how many machines shall run, 64 at most"`
}

func (t *tools) scaleCluster(ctx context.Context, in scaleClusterInput) (CreatedCluster, error) {
	if in.Nodes < 1 || in.Nodes > messages.MaxGroup {
		return CreatedCluster{}, service.Usage(fmt.Sprintf("%d is not a number of machines", in.Nodes), fmt.Sprintf("a cluster has 1 to %d", messages.MaxGroup))
	}
	c, err := t.getCluster(ctx, in.clusterInput)
	if err != nil {
		return CreatedCluster{}, err
	}
	if err := t.ours(&c, in.Cluster, "add machines with gantry cluster scale"); err != nil {
		return CreatedCluster{}, err
	}
	if _, err := t.o.Purchases.Scale(ctx, t.o.Buyer, c.Order, in.Nodes, deployWait); err != nil {
		return CreatedCluster{}, err
	}
	if c, err = t.o.Buyer.Cluster(ctx, c.Order); err != nil {
		return CreatedCluster{}, err
	}
	money, err := t.o.Budget.money()
	return CreatedCluster{c, money}, err
}

// ours refuses a cluster that this server has not bought.
func (t *tools) ours(c *buy.Cluster, named, advice string) error {
	order, err := solana.PublicKeyFromBase58(c.Order)
	if err != nil {
		return fmt.Errorf("order of cluster %s: %w", named, err)
	}
	bought, err := t.o.Buyer.Bought(order)
	if err == nil && !bought {
		err = service.Refused(fmt.Sprintf("cluster %s was not bought by this server", named), "it is the customer's: ask them to "+advice)
	}
	return err
}

func (t *tools) endCluster(ctx context.Context, in clusterInput) (buy.Cluster, error) {
	if err := t.o.Purchases.BreakOff(ctx, in.Cluster); err != nil {
		return buy.Cluster{}, err
	}
	c, err := t.getCluster(ctx, in)
	if err != nil {
		return c, err
	}
	if err := t.ours(&c, in.Cluster, "end it with gantry cluster down"); err != nil {
		return c, err
	}
	if err := t.o.Purchases.BreakOffCluster(ctx, &c); err != nil {
		return c, err
	}
	return t.o.Buyer.EndCluster(ctx, c.Order, endWait)
}
