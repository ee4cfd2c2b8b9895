package cli

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// defaultTime is how long a lease is rented for where nothing is said. What is not used comes back.
const defaultTime = time.Hour

// machines reads which GPUs are wanted, how many on each node, and on how many nodes.
func (s *session) machines() (gpu string, count, nodes uint, err error) {
	if gpu, count, err = s.gpu(); err != nil {
		return "", 0, 0, err
	}
	nodes = s.cli.Uint("nodes")
	switch {
	case count < 1 || count > market.MaxGPUs:
		err = usage(fmt.Sprintf("--count is %d", count), "a node has 1 to 8 GPUs; use --nodes for more")
	case nodes < 1 || nodes > market.MaxOrderNodes:
		err = usage(fmt.Sprintf("--nodes is %d", nodes), "an order is over 1 to 64 nodes")
	}
	return gpu, count, nodes, err
}

// gpu reads --gpu MODEL[:COUNT] and --count.
func (s *session) gpu() (name string, count uint, err error) {
	name, count = s.cli.String("gpu"), s.cli.Uint("count")
	of, number, two := strings.Cut(name, ":")
	if !two {
		return name, count, nil
	}
	n, err := strconv.ParseUint(number, 10, 8)
	if err != nil || of == "" {
		return "", 0, usage(fmt.Sprintf("--gpu %q is not MODEL or MODEL:COUNT", name), "write it as A100 or A100:4")
	}
	if s.cli.IsSet("count") && uint(n) != count {
		return "", 0, usage(fmt.Sprintf("--gpu %s and --count %d say two numbers of GPUs", name, count), "leave one out")
	}
	return of, uint(n), nil
}

// chooseModel takes, of the models that are meant, the one whose free machines serve the order at the lowest ask; where none
// can, the one with the most machines that nearly could, whose refusal is then shown. An order is for one model.
func (s *session) chooseModel(r *request, v *view.View, gpu string) error {
	models, err := service.ModelsNamed(v, gpu)
	if err != nil {
		return err
	}
	best := models[0]
	if len(models) > 1 {
		if best, err = s.bestModel(r, models); err != nil {
			return err
		}
	}
	r.model, r.args.Requirement.Model = best, best.Id
	if r.args.MaxPrice == 0 {
		r.args.MaxPrice, r.noPrice = market.PricePerHour(best.ReferencePrice), true
	}
	return nil
}

// bestModel compares the offers of several models.
func (s *session) bestModel(r *request, models []market.Model) (best market.Model, err error) {
	now, err := s.now()
	if err != nil {
		return best, err
	}
	filters := make([]chain.Filter, len(models))
	for i, m := range models {
		filters[i] = query.NodesOfModel(m.Id)
	}
	all, err := s.snapshot(view.With(filters))
	if err != nil {
		return best, err
	}
	mk, err := s.market()
	if err != nil {
		return best, err
	}
	mk.Paused = 0
	lowest, most := uint64(math.MaxUint64), -1
	for _, m := range models {
		ask, fit := s.offersOf(&mk, r, all, m, now)
		if fit >= int(r.args.Nodes) {
			if ask < lowest {
				best, lowest = m, ask
			}
		} else if lowest == math.MaxUint64 && fit > most {
			best, most = m, fit
		}
	}
	return best, nil
}

// offersOf counts the machines of a model that could serve the order now, and returns the highest ask of the cheapest that are enough.
func (s *session) offersOf(mk *market.Market, r *request, all *view.View, m market.Model, now int64) (ask uint64, fit int) {
	order := market.Order{}
	order.Status, order.AwardDeadline = uint8(market.OrderOpen), now+1
	order.MaxPrice, order.GpusPerNode, order.Requirement = uint64(r.args.MaxPrice), r.args.GPUsPerNode, r.args.Requirement
	order.Requirement.Model = m.Id
	if order.MaxPrice == 0 {
		order.MaxPrice = m.ReferencePrice
	}
	suits := market.Awardable
	if r.args.Sealed {
		suits = market.Biddable
	}
	var asks []uint64
	for _, n := range all.Nodes() {
		p, known := all.Provider(n.Provider)
		if !known || n.Spec.Model != m.Id || suits(mk, &order, &n, &p, &m, now) != nil || !volumeFits(r.job.Volume, &n, r.args.GPUsPerNode) {
			continue
		}
		asks = append(asks, n.Price)
	}
	slices.Sort(asks)
	if len(asks) >= int(r.args.Nodes) && r.args.Nodes > 0 {
		ask = asks[r.args.Nodes-1]
	}
	return ask, len(asks)
}
