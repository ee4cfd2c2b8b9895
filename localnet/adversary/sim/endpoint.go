package sim

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/measure"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/instant"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Endpoints say how bad the RPC nodes are through which keepers and machines read the chain. Each has one of its own.
type Endpoints struct {
	// Lag is how far one is behind the chain at most. How far it is is drawn anew every other period; two in three are fine.
	Lag time.Duration `json:"lag_ns"`
	// Fork is the share of periods in which one shows another block than the others at the instant of measurements.
	Fork float64 `json:"fork"`
	// Mute is the share of an endpoint's answers about single accounts that are errors.
	Mute float64 `json:"mute"`
}

func (e Endpoints) check() error {
	if e.Lag < 0 || e.Fork < 0 || e.Fork > 1 || e.Mute < 0 || e.Mute > 1 {
		return fmt.Errorf("%w: endpoints of %+v", ErrOptions, e)
	}
	return nil
}

// endpoint is the RPC node of one keeper or machine.
type endpoint struct {
	sim  *simulation
	of   place
	rng  rng           // for what is drawn when somebody asks
	fine time.Duration // how far it is behind when it is well
	// lag is how far it is behind in a term, which is drawn once.
	term int64
	lag  time.Duration
}

func newEndpoint(sim *simulation, of place) *endpoint {
	e := &endpoint{sim: sim, of: of, rng: newRNG(sim.o.Seed, fmt.Sprintf("endpoint/%d", of))}
	e.fine = e.rng.between(200*time.Millisecond, 1200*time.Millisecond)
	return e
}

// behind is how far it is behind the chain now.
func (e *endpoint) behind() time.Duration {
	if e.sim.o.Endpoints.Lag <= e.fine {
		return e.fine
	}
	if term := e.sim.loop.Now().Unix() / int64(2*e.sim.secs()); term != e.term {
		d := newRNG(e.sim.o.Seed, fmt.Sprintf("endpoint/%d/lag/%d", e.of, term))
		e.term, e.lag = term, e.fine
		if d.chance(1. / 3) {
			e.lag = d.between(e.fine, e.sim.o.Endpoints.Lag)
		}
	}
	return e.lag
}

// forked reports whether it shows another block at a period's instant.
func (e *endpoint) forked(p records.Period) bool {
	return e.sim.o.Endpoints.Fork > 0 && newRNG(e.sim.o.Seed, fmt.Sprintf("endpoint/%d/fork/%d", e.of, p)).chance(e.sim.o.Endpoints.Fork)
}

// block is the one that it shows at a tick of a period.
func (e *endpoint) block(p records.Period, at time.Time) [32]byte {
	name := fmt.Sprintf("tick/%d/%d", e.sim.o.Seed, at.Unix())
	if e.forked(p) {
		name += fmt.Sprintf("/fork/%d", e.of)
	}
	return sha256.Sum256([]byte(name))
}

// instant is the block at which nodes are measured in a period, as soon as it shows that.
func (e *endpoint) instant(p records.Period) (instant.Instant, bool) {
	for tick := range instant.Ticks {
		at := instant.Tick(p, tick, e.sim.secs())
		if e.sim.loop.Now().Before(at.Add(blockTime + e.behind())) {
			break
		}
		if i, here := instant.Draw(domain, p, tick, uint64(at.Unix()), e.block(p, at), at); here {
			return i, true
		}
	}
	return instant.Instant{}, false
}

// blockTime is the time from a tick until its block is final.
const blockTime = time.Second

var errMute = errors.New("the endpoint answers with an error")

// nodeAt is a node's account, and the chain's time, as the endpoint shows them.
func (e *endpoint) nodeAt(node solana.PublicKey) (*market.Node, time.Time, error) {
	if e.rng.chance(e.sim.o.Endpoints.Mute) {
		return nil, time.Time{}, errMute
	}
	shown := e.sim.loop.Now().Add(-e.behind())
	past := e.sim.past[node]
	for i := len(past) - 1; i >= 0; i-- {
		if !past[i].at.After(shown) {
			return past[i].node, shown, nil
		}
	}
	return nil, time.Time{}, errMute // it is too far behind for what is kept
}

// state is a node's account from a block on.
type state struct {
	at   time.Time
	node *market.Node
}

// mostPast is how many states of a node are kept.
const mostPast = 64

// keepPast keeps the nodes that a block has changed, for endpoints that are behind.
func (sim *simulation) keepPast(block []change) {
	for _, c := range block {
		if n, ok := c.account.(*market.Node); ok {
			past := sim.past[c.key]
			if len(past) == mostPast {
				past = append(past[:0], past[1:]...)
			}
			sim.past[c.key] = append(past, state{sim.loop.Now(), n})
		}
	}
}

// NodeAt reads a node's account through the keeper's endpoint.
func (k *keeper) nodeAt(ctx context.Context, node solana.PublicKey) (n *market.Node, shown time.Time, err error) {
	waited := k.group.Wait(ctx, func(wake func()) {
		k.sim.loop.After(k.toChain(), func() {
			if n, shown, err = k.endpoint.nodeAt(node); k.sim.plan.offChain(k.place) {
				err = errMute
			}
			k.sim.loop.After(k.toChain(), wake)
		})
	})
	return n, shown, errors.Join(waited, err)
}

const (
	// startShare and startLeast say how long after a tick a run may begin, openFor for how long a machine looks for the block:
	// see agent/measure.
	startShare = 60
	startLeast = 20 * time.Second
	openFor    = 30 * time.Second
)

// joins says how a machine takes a keeper's question for a measurement: a refusal, or how long it is until the machine has seen
// the block through its own endpoint.
func (m *machine) joins(named instant.Instant, secs uint32) (wait time.Duration, refused messages.MeasureRefusal) {
	now := m.endpoint.sim.loop.Now()
	if now.Sub(named.At).Abs() > max(time.Duration(secs)*time.Second/startShare, startLeast) {
		return 0, messages.MeasureOver
	}
	wait = named.At.Add(blockTime + m.endpoint.behind()).Sub(now)
	switch {
	case wait > openFor:
		return openFor, messages.MeasureBlock
	case named.Hash != m.endpoint.block(named.Period, named.At):
		return max(wait, 0), messages.MeasureBlock
	}
	return max(wait, 0), 0
}

// refusal is the result of a measurement that the machine refuses.
func refusal(why messages.MeasureRefusal) measure.Result {
	return measure.Result{Outcome: measure.Refused, Why: &measure.RefusedError{Why: why}}
}
