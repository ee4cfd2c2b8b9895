package chain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
)

// A node that is a slot behind is passed over in silence. One that stays behind is told of, once.
func TestANodeThatIsBehind(t *testing.T) {
	s := fakerpc.New(t)
	s.Handle("getSlot", func([]json.RawMessage) (any, *fakerpc.Error) {
		return nil, &fakerpc.Error{Code: chain.CodeSlotNotReached, Message: "Minimum context slot has not been reached"}
	})
	var log bytes.Buffer
	c, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: s.URL(), WS: s.WS()}}, Timeout: 2 * time.Second, Log: zerolog.New(&log)})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	ask := func(times int) {
		for range times {
			_, err := c.Slot(ctxFor(t), chain.Confirmed)
			require.True(t, chain.IsCode(err, chain.CodeSlotNotReached))
		}
	}
	ask(3)
	require.NotContains(t, log.String(), "RPC endpoint failed")
	ask(20)
	require.Equal(t, 1, strings.Count(log.String(), "RPC endpoint failed"), log.String())
}
