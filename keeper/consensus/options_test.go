package consensus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/records"
)

// An engine without something that it needs is not made, and the error says what is missing.
func TestNewRefusesIncompleteOptions(t *testing.T) {
	whole := newCluster(t, 1).participants[0].engine.o
	for name, remove := range map[string]func(*Options){
		"View":         func(o *Options) { o.View = nil },
		"Store":        func(o *Options) { o.Store = nil },
		"Signer":       func(o *Options) { o.Signer = nil },
		"Domain":       func(o *Options) { o.Domain = records.Domain{} },
		"Timing.Round": func(o *Options) { o.Timing = Timing{Delay: time.Second} },
		"Peers":        func(o *Options) { o.Peers = nil },
		"Submit":       func(o *Options) { o.Submit = nil },
		"Damaged":      func(o *Options) { o.Damaged = nil },
		"Observe":      func(o *Options) { o.Observe = nil },
	} {
		o := whole
		remove(&o)
		_, err := New(o)
		require.ErrorIs(t, err, ErrOptions)
		require.ErrorContains(t, err, name+" is missing")
	}
	whole.Now, whole.Tasks, whole.Pool, whole.Seeds = nil, nil, nil, nil
	_, err := New(whole)
	require.NoError(t, err, "the rest may be left out")
}
