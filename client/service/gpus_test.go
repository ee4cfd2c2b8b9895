package service

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestTheGPUsOfAMarket(t *testing.T) {
	models := []market.Model{{}, {}, {}}
	for i, name := range []string{"A100-SXM4-40GB", "H100-SXM5-80GB", "L4"} {
		models[i].Name, models[i].VramMib, models[i].ReferencePrice = market.Text32(name), uint32(40_960*(i+1)), 2_000_000
	}
	got, err := gpusOf(models, []Offer{
		{Model: "A100-SXM4-40GB", GPUs: 8, Free: 2, Price: "1.60", Region: "us-west", Simulated: true},
		{Model: "A100-SXM4-40GB", GPUs: 4, Free: 4, Price: "1.20", Region: "eu"},
		{Model: "A100-SXM4-40GB", GPUs: 1, Free: 0, Price: "0.10", Region: "ap"}, // its price is nobody's
		{Model: "A100-SXM4-40GB", GPUs: 1, Free: 1, Price: "1.30", Region: "eu"},
		{Model: "H100-SXM5-80GB", GPUs: 8, Free: 0, Price: "2.60", Region: "us"},
	})
	require.NoError(t, err)
	require.Equal(t, []GPUs{
		{
			Model: "A100-SXM4-40GB", VRAMMiB: 40_960, Reference: "2.00", Machines: 4, GPUs: 14, Free: 7, MostFree: 4, From: "1.20", To: "1.60",
			Regions: []string{"eu", "us-west"}, Simulated: 8,
		},
		{Model: "H100-SXM5-80GB", VRAMMiB: 81_920, Reference: "2.00", Machines: 1, GPUs: 8},
		{Model: "L4", VRAMMiB: 122_880, Reference: "2.00"},
	}, got)
	require.Equal(t, []string{"1.20 to 1.60", "-"}, []string{got[0].Asks(), got[1].Asks()})
}

// Each GPU of a market is counted once.
func TestAllGPUsAreCounted(t *testing.T) {
	r := rank(nodesView(300), 1000)
	got, err := gpusOf(r.view.Models(), r.search(&Terms{}, SortAward, 300).Offers)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, 300, got[0].Machines+got[1].Machines)
	require.Equal(t, 2400, got[0].Free+got[1].Free)
	require.Equal(t, []string{"eu-central-1", "us-east-1", "us-west-2"}, got[0].Regions)
}
