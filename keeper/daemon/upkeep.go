package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/gantry-market/gantry/keeper/statement"
	"github.com/gantry-market/gantry/keeper/store"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// republish puts own statements that may still count into the pool again and sends them to the peers: the last ones
// before a kill may never have been sent.
func (k *Keeper) republish() error {
	now := records.Period(k.now().Unix() / int64(k.secs))
	back := records.Period(k.retention/k.secs) + 1
	for p := now - min(back, now); p <= now; p++ {
		have, err := k.store.Statements(p)
		if err != nil {
			return err
		}
		own := make([]statement.Signed, len(have))
		for i, s := range have {
			own[i] = statement.Signed{Keeper: k.publicKey(), Statement: s.Statement, Signature: s.Signature}
		}
		if len(own) > 0 {
			k.gossip.PublishStatements(own)
		}
	}
	return nil
}

// pruneEvery is how often old entries are dropped, and those of sealed periods packed.
const pruneEvery = 10 * time.Minute

func (k *Keeper) runComplaints(ctx context.Context) error {
	return k.complaints.Fetch(ctx, k.node, market.Seconds(k.secs)/2)
}

func (k *Keeper) runAnswers(ctx context.Context) error {
	return k.answers.Fetch(ctx, k.node, market.Seconds(k.secs)/2)
}

func (k *Keeper) runPrune(ctx context.Context) error {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	for {
		keep := max(k.timing.Keep, 2*market.Seconds(k.retention))
		before := records.Period(max(0, k.now().Add(-keep).Unix()) / int64(k.secs))
		n, err := k.store.Prune(before)
		if err == nil {
			var old int
			old, err = k.store.PruneBids(k.now().Add(-keep).Unix())
			n += old
		}
		if err == nil {
			err = errors.Join(k.complaints.Prune(), k.answers.Prune())
		}
		packed := 0
		if err == nil {
			packed, err = k.store.Pack()
		}
		if store.IsDamage(err) {
			k.damaged(err)
			return err
		}
		if err != nil {
			k.log.Warn().Err(err).Msg("old entries of the store were not dropped; the keeper tries again later")
		}
		k.log.Debug().Int("dropped", n).Int("packed", packed).Msg("keeper dropped old entries of its store and packed others")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
