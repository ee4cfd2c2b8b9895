package service

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/gantry-market/gantry/sdk/market"
)

// GPUs are those of one model that a market has.
type GPUs struct {
	Model     string `json:"model"`
	VRAMMiB   uint32 `json:"vramMib"`
	Reference string `json:"referencePrice"` // USDC a GPU-hour, as governance has it
	// Machines take work, with GPUs of which Free are free; MostFree are free in one machine.
	Machines int    `json:"machines"`
	GPUs     int    `json:"gpus"`
	Free     int    `json:"freeGpus"`
	MostFree uint8  `json:"mostFreeInOneMachine"`
	From     string `json:"pricePerGpuHourFrom,omitempty"` // of machines with a free GPU
	To       string `json:"pricePerGpuHourTo,omitempty"`
	// Regions of machines with a free GPU, in order.
	Regions   []string `json:"regions,omitempty"`
	Simulated int      `json:"simulatedGpus,omitempty"`
}

// GPUs are the models of the market with what is offered of each, those with most free GPUs first. Error: that of the cluster.
func (s *Service) GPUs(ctx context.Context) ([]GPUs, error) {
	r, err := s.ranked(ctx)
	if err != nil {
		return nil, err
	}
	return gpusOf(r.view.Models(), r.search(&Terms{}, SortAward, math.MaxInt).Offers)
}

// Asks are the prices of machines with a free GPU, as text.
func (g *GPUs) Asks() string {
	switch {
	case g.Free == 0:
		return "-"
	case g.From == g.To:
		return g.From
	}
	return g.From + " to " + g.To
}

func gpusOf(models []market.Model, offers []Offer) ([]GPUs, error) {
	var out []GPUs
	for i := range models {
		m := &models[i]
		g := GPUs{Model: m.ModelName(), VRAMMiB: m.VramMib, Reference: market.PricePerHour(m.ReferencePrice).String()}
		var least, most market.PricePerHour
		for _, o := range offers {
			if o.Model != g.Model {
				continue
			}
			g.Machines++
			g.GPUs += int(o.GPUs)
			if o.Simulated {
				g.Simulated += int(o.GPUs)
			}
			if o.Free == 0 {
				continue
			}
			price, err := market.ParsePrice(o.Price)
			if err != nil {
				return nil, err
			}
			if g.Free == 0 || price < least {
				least = price
			}
			most = max(most, price)
			g.Free += int(o.Free)
			g.MostFree = max(g.MostFree, o.Free)
			if o.Region != "" && !slices.Contains(g.Regions, o.Region) {
				g.Regions = append(g.Regions, o.Region)
			}
		}
		if g.Free > 0 {
			g.From, g.To = least.String(), most.String()
		}
		slices.Sort(g.Regions)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b GPUs) int { return cmp.Or(cmp.Compare(b.Free, a.Free), strings.Compare(a.Model, b.Model)) })
	return out, nil
}
