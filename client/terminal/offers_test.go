package terminal

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
)

// written is what a function writes to a terminal.
func written(t *testing.T, write func(*Page)) func(screen.Terminal) string {
	return func(at screen.Terminal) string {
		var out bytes.Buffer
		at.Out = &out
		p := NewScreen(at)
		write(p)
		require.NoError(t, p.Close())
		return out.String()
	}
}

func TestTables(t *testing.T) {
	typical := &service.Typical{TOPS: "1031", Of: "class"}
	found := service.Found{Fit: 3, Unfit: map[string]int{"too dear": 61}, Offers: []service.Offer{
		{Address: leases[0].String(), Model: "H100-SXM", GPUs: 8, Free: 6, Price: "1.98", Measured: &service.Measured{TOPS: "1041"}, Typical: typical, Uptime: "99.98", Checks: 9, Region: "eu-central", Status: "active", Tier: 2},
		{Address: leases[1].String(), Model: "H100-SXM", GPUs: 1, Free: 1, Price: "1.92", Measured: &service.Measured{TOPS: "956"}, Typical: typical, Uptime: "98.71", Checks: 9, Region: "eu-north\n", Status: "active"},
		{Address: order.String(), Model: "H100-NVL", GPUs: 4, Free: 4, Price: "2.05", Uptime: "100.00", Checks: 9, Region: "", Status: "active", Simulated: true},
	}}
	screentest.Golden(t, "search", written(t, func(p *Page) { WriteOffers(p, &found, false) }))
	screentest.Golden(t, "gpus", written(t, func(p *Page) {
		WriteGPUs(p, []service.GPUs{
			{Model: "H100-SXM", VRAMMiB: 81_920, Reference: "2.40", Machines: 2, GPUs: 9, Free: 7, MostFree: 6, From: "1.92", To: "1.98", Regions: []string{"eu-central", "eu-north"}},
			{Model: "RTX-4090", VRAMMiB: 24_576, Reference: "0.40", Machines: 1, GPUs: 1},
		})
	}))
	screentest.Golden(t, "leases", written(t, func(p *Page) {
		WriteLeases(p, []service.Lease{
			{Address: leases[0].String(), Status: "running", GPUs: 1, Model: "H100-SXM", Price: "1.98", Used: 3000, Cost: "1.650000", Paid: "1.375000", Reserved: "7.920000", FundedUntil: 1_790_014_400},
			{Address: leases[1].String(), Status: "ended", EndReason: "customer", GPUs: 8, Model: "A100", Price: "1.26", Used: 90, Cost: "0.252000", Paid: "0.252000", Reserved: "0.252000", EndedAt: 1_789_000_000},
		}, 1_790_003_000)
	}))
	screentest.Golden(t, "leases-named", written(t, func(p *Page) {
		WriteLeases(p, []service.Lease{
			{Address: leases[0].String(), Name: "train", Status: "running", GPUs: 1, Model: "H100-SXM", Price: "1.98", Used: 3000, Cost: "1.650000", Paid: "1.375000", Reserved: "7.920000", FundedUntil: 1_790_014_400},
			{Address: leases[1].String(), Status: "awarded", GPUs: 8, Model: "A100", Price: "1.26", Reserved: "0.252000", EndedAt: 1_789_000_000},
		}, 1_790_003_000)
	}))
}
