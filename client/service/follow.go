package service

import (
	"context"
	"time"

	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/watch"
)

// liveWithin is how long a live view may take to show the accounts of its scope.
const liveWithin = 15 * time.Second

// Live follows the accounts of a scope until stop is called, which waits for it.
func (s *Service) Live(ctx context.Context, scope watch.Scope) (v *view.View, stop func(), err error) {
	v = view.New(view.Options{Log: s.log})
	following, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = v.Run(following, view.Source{Client: s.client, Commitment: s.client.Commitment(), Scope: scope})
	}()
	stop = func() { cancel(); <-done }
	wait, end := context.WithTimeout(ctx, liveWithin)
	defer end()
	if err := v.Ready(wait); err != nil {
		stop()
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		return nil, nil, Network("the market cannot be followed: its WebSocket endpoint does not answer", "check --ws", err)
	}
	return v, stop, nil
}
