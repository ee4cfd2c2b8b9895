package pricing

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]Policy{
		"1.26": Fixed(1_260_000), " 2 ": Fixed(2_000_000), "auto": FollowMarket{}, "AUTO:1.6": FollowMarket{Floor: 1_600_000},
	} {
		got, err := Parse(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
		again, err := Parse(got.String())
		require.NoError(t, err)
		require.Equal(t, got, again)
	}
	for _, bad := range []string{"", "0", "0.0000000", "-1", "1.2.3", "auto:", "auto:x", "cheap", "1e3", "18446744073710"} {
		_, err := Parse(bad)
		require.Error(t, err, bad)
	}
	_, err := Parse("0")
	require.ErrorIs(t, err, ErrPolicy)
}

func TestFollowMarket(t *testing.T) {
	prices := func(p ...market.PricePerHour) []market.PricePerHour { return p }
	for name, c := range map[string]struct {
		policy FollowMarket
		s      Snapshot
		want   market.PricePerHour
	}{
		"alone":             {FollowMarket{}, Snapshot{Reference: 1_300_000}, 1_300_000},
		"nothing known":     {FollowMarket{}, Snapshot{}, 0},
		"median":            {FollowMarket{}, Snapshot{Reference: 9, Others: prices(3_000_000, 1_000_000, 2_000_000)}, 2_000_000},
		"lower of two":      {FollowMarket{}, Snapshot{Others: prices(3_000_000, 1_000_000)}, 1_000_000},
		"leased":            {FollowMarket{}, Snapshot{Others: prices(1_000_000), Leased: true}, 1_020_000},
		"idle":              {FollowMarket{}, Snapshot{Others: prices(1_000_000), Idle: 3 * time.Hour}, 970_000},
		"idle for long":     {FollowMarket{}, Snapshot{Others: prices(1_000_000), Idle: 900 * time.Hour}, 850_000},
		"floor":             {FollowMarket{Floor: 1_200_000}, Snapshot{Others: prices(1_000_000)}, 1_200_000},
		"small step":        {FollowMarket{}, Snapshot{Others: prices(1_000_000), Current: 1_005_000}, 1_005_000},
		"larger step":       {FollowMarket{}, Snapshot{Others: prices(1_000_000), Current: 1_050_000}, 1_000_000},
		"below a new floor": {FollowMarket{Floor: 1_004_000}, Snapshot{Others: prices(1_000_000), Current: 1_000_000}, 1_004_000},
	} {
		require.Equal(t, c.want, c.policy.Ask(c.s), name)
	}
	require.EqualValues(t, 7, Fixed(7).Ask(Snapshot{Reference: 9}))
}

func TestAskIsNeverBelowTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		price := rapid.Uint64Range(0, 1<<50)
		s := Snapshot{
			Reference: market.PricePerHour(price.Draw(t, "reference")), Current: market.PricePerHour(price.Draw(t, "current")),
			Leased: rapid.Bool().Draw(t, "leased"), Idle: time.Duration(rapid.Int64Range(-1<<40, 1<<60).Draw(t, "idle")),
		}
		for _, p := range rapid.SliceOfN(price, 0, 9).Draw(t, "others") {
			s.Others = append(s.Others, market.PricePerHour(p))
		}
		floor := market.PricePerHour(price.Draw(t, "floor"))
		before := append([]market.PricePerHour(nil), s.Others...)
		require.GreaterOrEqual(t, FollowMarket{Floor: floor}.Ask(s), floor)
		require.Equal(t, before, s.Others, "what was passed in is not changed")
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"1.26", "auto", "auto:1.6", "AUTO:", "0", "-1", "1e9", "18446744073709.551615"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := Parse(s)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again != p {
			t.Fatalf("%q reads as %v, which reads as %v (%v)", s, p, again, err)
		}
	})
}
