package dispute

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
)

func TestKeepersJudgeWhatTheirStatementsShow(t *testing.T) {
	hour := Facts{Kind: market.DisputeNotDelivered, Elapsed: 3_600, Grace: 20, Readable: true}
	outputs := Facts{Kind: market.DisputeBadOutput, Elapsed: 3_600, Readable: true}
	for name, c := range map[string]struct {
		facts  Facts
		change func(*Facts)
		want   Opinion
	}{
		"nothing seen":                        {hour, func(*Facts) {}, Abstain},
		"served all the time":                 {hour, func(f *Facts) { f.Up = 3_600 }, Reject},
		"served, and all of it is paid":       {hour, func(f *Facts) { f.Up, f.Paid = 3_600, 3_600 }, Reject},
		"nine tenths seen served":             {hour, func(f *Facts) { f.Up = 3_240 }, Reject},
		"less seen served":                    {hour, func(f *Facts) { f.Up = 3_239 }, Abstain},
		"served but for the grace":            {hour, func(f *Facts) { f.Up, f.Down = 3_580, 20 }, Reject},
		"down for longer, and not paid":       {hour, func(f *Facts) { f.Up, f.Down, f.Paid = 3_579, 21, 3_579 }, Abstain},
		"down seconds are paid":               {hour, func(f *Facts) { f.Up, f.Down, f.Paid = 3_500, 100, 3_521 }, Uphold},
		"paid within the grace":               {hour, func(f *Facts) { f.Up, f.Down, f.Paid = 3_500, 100, 3_520 }, Abstain},
		"down for most of its time":           {hour, func(f *Facts) { f.Down = 1_801 }, Uphold},
		"down for half of it":                 {hour, func(f *Facts) { f.Down = 1_800 }, Abstain},
		"never begun":                         {hour, func(f *Facts) { f.Elapsed = 0 }, Abstain},
		"down, and nobody can read why":       {hour, func(f *Facts) { f.Down, f.Readable = 3_600, false }, Abstain},
		"served, and nobody can read why not": {hour, func(f *Facts) { f.Up, f.Readable = 3_600, false }, Reject},

		"not a redundant job":         {outputs, func(f *Facts) { f.Up = 3_600 }, Abstain},
		"its output was accepted":     {outputs, func(f *Facts) { f.Output, f.Agreeing = market.OutputAccepted, 2 }, Reject},
		"another output was accepted": {outputs, func(f *Facts) { f.Output, f.Agreeing = market.OutputRejected, 2 }, Uphold},
		"a third output was shown": {outputs, func(f *Facts) {
			f.Output, f.Agreeing, f.Dissenting = market.OutputRejected, 3, 1
		}, Abstain},
		"one other is not enough": {outputs, func(f *Facts) { f.Output, f.Agreeing = market.OutputRejected, 1 }, Abstain},
		"no majority":             {outputs, func(f *Facts) { f.Output = market.OutputRejected }, Abstain},
		"not compared yet":        {outputs, func(f *Facts) { f.Output = market.OutputRevealed }, Abstain},
		"a complaint that is not here": {outputs, func(f *Facts) {
			f.Output, f.Agreeing, f.Readable = market.OutputRejected, 2, false
		}, Abstain},
		"an unknown kind": {outputs, func(f *Facts) { f.Kind = 3 }, Abstain},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.facts
			c.change(&f)
			j := Judge(f)
			require.Equal(t, c.want, j.Opinion, j.Why)
			require.NotEmpty(t, j.Why)
		})
	}
}
