package service

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Answers are sorted by what was measured, and what was not measured is behind it.
func TestAnswersAreSortedByMeasuredFigures(t *testing.T) {
	v := nodesView(4)
	nodes := v.Nodes()
	figures := []struct{ price, operations, bandwidth, down, up uint32 }{
		{4_000_000, 2_000_000, 1_000_000, 100, 900}, // 2 USDC a 1000 TOPS
		{1_000_000, 250_000, 900_000, 0, 0},         // 4
		{3_000_000, 3_000_000, 500_000, 900, 100},   // 1
		{1_500_000, 0, 0, 0, 0},                     // not measured
	}
	named := map[string]int{}
	for i, f := range figures {
		n := nodes[i]
		n.Price, n.Operations, n.Bandwidth, n.DownMbps, n.UpMbps = uint64(f.price), f.operations, f.bandwidth, f.down, f.up
		named[n.Address.String()] = i
		v.Put(n.Address, &n)
	}
	r := rank(v, 1000)
	for by, want := range map[SortBy][]int{
		SortAward: {1, 3, 2, 0}, SortTOPSPrice: {2, 0, 1, 3}, SortGBsPrice: {1, 0, 2, 3}, SortTOPS: {2, 0, 1, 3}, SortGBs: {0, 1, 2, 3},
		SortDown: {2, 0, 1, 3}, SortUp: {0, 2, 1, 3},
	} {
		for range 2 { // the second one is remembered
			var got []int
			for _, o := range r.answer("", &Terms{Count: 1}, by, 4).Offers {
				got = append(got, named[o.Address])
			}
			require.Equal(t, want, got, by)
		}
		require.Equal(t, want[0], named[r.answer("", &Terms{Count: 1}, by, 1).Offers[0].Address], "the best of all, not of the first: %s", by)
	}
	for _, text := range append([]string{"", "award"}, Sorts...) {
		_, err := ParseSort(text)
		require.NoError(t, err)
	}
	_, err := ParseSort("price-per-dream")
	require.ErrorContains(t, err, "sort by award, tops-price")
}

// A card is found by the memory that it is sold with, though its driver shows less.
func TestMemoryIsAskedForAsItIsSold(t *testing.T) {
	for gib, shown := range map[uint64]uint32{24: 23_028, 48: 46_068, 80: 81_559, 141: 143_771, 180: 183_359, 32: 32_607, 40: 40_536} {
		require.LessOrEqual(t, MemoryMiB(gib), shown, gib)
		require.Greater(t, MemoryMiB(gib*11/10), shown*93/100, gib)
	}
	for _, c := range [][2]uint64{{24, 20 << 10}, {80, 48 << 10}, {48, 40 << 10}, {141, 95_830}} {
		require.Greater(t, uint64(MemoryMiB(c[0])), c[1], "a smaller card is none of %d GiB", c[0])
	}
}

func TestFiguresOfAnOrder(t *testing.T) {
	var q Terms
	require.NoError(t, Figures{MinTOPS: "1200.5", MinBandwidth: "900", MinDown: 100, MinUp: 50}.into(&q))
	require.Equal(t, Terms{Operations: 1_200_500, Bandwidth: 900_000, DownMbps: 100, UpMbps: 50}, q)
	require.ErrorContains(t, Figures{MinTOPS: "many"}.into(&q), "minTops")
}
