package register

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/market"
)

func TestPromise(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	params := market.Params{PeriodSecs: 3_600, UnstakeCooldownSecs: 14 * 86_400}
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		promise Promise
		running int64 // end of a commitment to 95 %
		until   int64
	}{
		"shortest":       {Promise{BPS: 9_900}, 0, 1_000_000 + 14*86_400 + 60},
		"named":          {Promise{For: 30 * day, BPS: 10_000}, 0, 1_000_000 + 30*86_400},
		"too short":      {Promise{For: 13 * day, BPS: 9_900}, 0, 0},
		"too long":       {Promise{For: 366 * day, BPS: 9_900}, 0, 0},
		"too little":     {Promise{For: 30 * day, BPS: 8_999}, 0, 0},
		"too much":       {Promise{For: 30 * day, BPS: 10_001}, 0, 0},
		"nothing":        {Promise{For: 30 * day}, 0, 0},
		"grows":          {Promise{For: 30 * day, BPS: 9_600}, 1_000_000 + 20*86_400, 1_000_000 + 30*86_400},
		"ends earlier":   {Promise{For: 19 * day, BPS: 9_600}, 1_000_000 + 20*86_400, 0},
		"promises less":  {Promise{For: 30 * day, BPS: 9_400}, 1_000_000 + 20*86_400, 0},
		"negative":       {Promise{For: -day, BPS: 9_900}, 0, 0},
		"without an end": {Promise{For: 1<<63 - 1, BPS: 9_900}, 0, 0},
	} {
		n := market.Node{}
		if n.CommittedUntil = c.running; c.running != 0 {
			n.PromiseBps = 9_500
		}
		until, err := c.promise.until(&n, &params, now)
		require.Equal(t, c.until, until, name)
		if c.until == 0 {
			require.ErrorIs(t, err, ErrPromise, name)
		} else {
			require.NoError(t, err, name)
		}
	}
	// Where stake leaves at once, it is two periods.
	until, err := Promise{BPS: 9_000}.until(&market.Node{}, &market.Params{PeriodSecs: 5}, now)
	require.NoError(t, err)
	require.EqualValues(t, 1_000_070, until)
}
