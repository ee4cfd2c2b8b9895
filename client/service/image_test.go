package service

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Figures that a machine invents are cut to what can be, and its words are fit for a terminal.
func TestAnImageIsWhatAMachineSays(t *testing.T) {
	of := func(p *messages.ImagePull) *Image {
		return DescribeJob(&market.Lease{}, messages.LeaseStatus{Image: p}).Image
	}
	require.Nil(t, of(nil))
	require.Nil(t, of(&messages.ImagePull{Phase: 99}))
	require.Equal(t, &Image{Phase: ImageFetching, Done: 40, Total: 100, Unpacked: 30, Rate: 7, Layers: 3, Finished: 1, Still: 2},
		of(&messages.ImagePull{Phase: messages.ImageFetching, Done: 40, Total: 100, Unpacked: 30, Rate: 7, Layers: 3, LayersDone: 1, StillSecs: 2}))
	require.Equal(t, &Image{Phase: ImageFailed, Done: 100, Total: 100, Unpacked: 100, Rate: maxBytes, Layers: 3, Finished: 3, Why: `\u001b[2J`},
		of(&messages.ImagePull{Phase: messages.ImageFailed, Done: math.MaxUint64, Total: 100, Unpacked: 101, Rate: math.MaxUint64, Layers: 3, LayersDone: 9, Why: "\x1b[2J"}))
}

func TestHowFarAnImageIs(t *testing.T) {
	for _, x := range []struct {
		i     Image
		part  float64
		known bool
		left  time.Duration
		when  bool
		still string
	}{
		{Image{Phase: ImageAsking, Still: 12}, 0, false, 0, false, "nothing has come for 12s"},
		{Image{Phase: ImageFetching, Done: 25, Total: 100, Rate: 5, Still: 9}, 0.25, true, 15 * time.Second, true, ""},
		{Image{Phase: ImageFetching, Done: 25, Rate: 5}, 0, false, 0, false, ""},
		{Image{Phase: ImageFetching, Done: 25, Total: 100, Still: 90}, 0.25, true, 0, false, "nothing has come for 1m30s"},
		{Image{Phase: ImageFetching, Total: maxBytes, Rate: 1}, 0, true, 0, false, ""},
		{Image{Phase: ImageUnpacking, Done: 100, Unpacked: 50, Total: 100, Still: 10}, 0.5, true, 0, false, "nothing was unpacked for 10s"},
		{Image{Phase: ImageReady, Still: 90}, 1, true, 0, false, ""},
	} {
		part, known := x.i.Part()
		require.InDelta(t, x.part, part, 1e-9, x.i)
		require.Equal(t, x.known, known, x.i)
		left, when := x.i.Left()
		require.Equal(t, x.left, left, x.i)
		require.Equal(t, x.when, when, x.i)
		require.Equal(t, x.still, x.i.Stands(), x.i)
	}
}
