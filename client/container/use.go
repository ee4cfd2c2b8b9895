package container

import (
	"context"
	"errors"
	"time"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

var useProtocol = buy.ToNode(messages.LeaseUse)

const (
	// WatchEvery is how often a lease is looked at; machines measure once a second at most.
	WatchEvery = 2 * time.Second
	// watchApart is the least time between two measurements of which rates are made.
	watchApart = 1200 * time.Millisecond
)

// Watch asks the machine of a lease what it uses, again and again, until ctx ends or take returns an error. now is the
// chain's clock in unix seconds.
func Watch(ctx context.Context, r *buy.Remote, l market.Lease, now func(context.Context) (int64, error), every time.Duration, take func(service.Use) error) error {
	var last messages.Use
	for {
		use, err := useOnceRunning(ctx, r, l)
		if err != nil {
			return err
		}
		if known, ok := r.View.Lease(l.Address); ok {
			l = known
		}
		if last.AtMs != 0 && use.AtMs > last.AtMs {
			at, err := now(ctx)
			if err != nil {
				return err
			}
			if err := take(service.DescribeUse(l, last, use, at)); err != nil {
				return err
			}
		}
		pause := every
		if last.AtMs == 0 {
			pause = watchApart
		}
		last = use
		if err := wait.For(ctx, pause); err != nil {
			return err
		}
	}
}

// useOnceRunning asks the machine again while the container has not begun.
func useOnceRunning(ctx context.Context, r *buy.Remote, l market.Lease) (use messages.Use, err error) {
	ended := wait.Again(ctx, service.StartTime, startedAgain, func() bool {
		use, err = useOf(ctx, r, l)
		var why *service.RefusedByNode
		return errors.As(err, &why) && why.Why == messages.ContainerStarts
	})
	if ended != nil {
		return use, ended
	}
	return use, err
}

// useOf asks the machine once.
func useOf(ctx context.Context, r *buy.Remote, l market.Lease) (messages.Use, error) {
	ctx, cancel := context.WithTimeout(ctx, EnterTime)
	defer cancel()
	answer, err := buy.Call[messages.LeaseRequest, messages.UseAnswer](ctx, r, l.NodeKey, useProtocol, messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	switch {
	case errors.Is(err, p2p.ErrProtocol):
		return answer.Use, service.Refused("the machine's agent does not say what leases use", "its provider has to update it")
	case err != nil:
		return answer.Use, service.Network(err.Error(), "try again; if it stays so, see: gantry leases", err)
	case answer.Refused != "":
		why := &service.RefusedByNode{Why: answer.Refused}
		return answer.Use, &service.Failure{Code: service.CodeRefused, Reason: why.Error(), Advice: "see: gantry leases, gantry logs " + l.Address.String(), Cause: why}
	}
	return answer.Use, nil
}
