package register

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestGuarantee(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	params := market.Params{PeriodSecs: 3_600, UnstakeCooldownSecs: 14 * 86_400}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		guarantee Guarantee
		running   int64 // end of a guarantee of 95 %
		until     int64
	}{
		"shortest":       {Guarantee{BPS: 9_900}, 0, 1_000_000 + 14*86_400 + 60},
		"named":          {Guarantee{For: 30 * day, BPS: 10_000}, 0, 1_000_000 + 30*86_400},
		"too short":      {Guarantee{For: 13 * day, BPS: 9_900}, 0, 0},
		"too long":       {Guarantee{For: 366 * day, BPS: 9_900}, 0, 0},
		"too little":     {Guarantee{For: 30 * day, BPS: 8_999}, 0, 0},
		"too much":       {Guarantee{For: 30 * day, BPS: 10_001}, 0, 0},
		"nothing":        {Guarantee{For: 30 * day}, 0, 0},
		"grows":          {Guarantee{For: 30 * day, BPS: 9_600}, 1_000_000 + 20*86_400, 1_000_000 + 30*86_400},
		"ends earlier":   {Guarantee{For: 19 * day, BPS: 9_600}, 1_000_000 + 20*86_400, 0},
		"promises less":  {Guarantee{For: 30 * day, BPS: 9_400}, 1_000_000 + 20*86_400, 0},
		"negative":       {Guarantee{For: -day, BPS: 9_900}, 0, 0},
		"without an end": {Guarantee{For: 1<<63 - 1, BPS: 9_900}, 0, 0},
	} {
		n := market.Node{}
		if n.GuaranteedUntil = c.running; c.running != 0 {
			n.GuaranteeBps = 9_500
		}
		until, err := c.guarantee.until(&n, &params, now)
		require.Equal(t, c.until, until, name)
		if c.until == 0 {
			require.ErrorIs(t, err, ErrGuarantee, name)
		} else {
			require.NoError(t, err, name)
		}
	}
	// Where stake leaves at once, it is two periods.
	until, err := Guarantee{BPS: 9_000}.until(&market.Node{}, &market.Params{PeriodSecs: 5}, now)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_070, until)
}
