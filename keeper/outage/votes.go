package outage

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/keeper/crank"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// Due lists this keeper's votes about nodes that are away (unix seconds on the chain's clock at the earliest). It has no
// memory of what was sent: whether a vote counts is on chain.
func (w *Watch) Due(v *view.Accounts, now int64) ([]crank.Action, error) {
	me, ok := v.Keepers[w.o.Self]
	if !ok || me.State() != market.KeeperActive {
		return nil, nil
	}
	away := w.away()
	var out []crank.Action
	for _, key := range slices.SortedFunc(maps.Keys(away), func(a, b solana.PublicKey) int { return bytes.Compare(a[:], b[:]) }) {
		last, ok := lastSign(v, key, away[key])
		if !ok || last+silenceSecs > now || last < now-market.OutageMaxSecs {
			continue // the report decides about what is older
		}
		window := int64(0)
		if o := v.Outages[key]; o != nil && !o.Over(now) {
			if o.SeenAt != 0 || o.Counted(me.Index) || me.ActiveSince >= o.OpenedAt {
				continue
			}
			window = o.OpenedAt
		}
		instruction, err := ix.OutageVote(ix.OutageVoteArgs{Keeper: w.o.Self, Signer: me.SigningKey(), Node: key, LastAnswer: last})
		if err != nil {
			return out, fmt.Errorf("vote about node %s: %w", key, err)
		}
		id := fmt.Sprintf("%s/%s/%d/%d", crank.OutageVote, key, last, window)
		out = append(out, crank.Action{
			Kind: crank.OutageVote, Key: id, Group: id, Mine: true, Since: last + silenceSecs,
			Instructions: []solana.Instruction{instruction},
		})
	}
	return out, nil
}

// away has the nodes that were found to be away a moment ago and are not starting again, and the unix second of the last answer of each.
func (w *Watch) away() map[solana.PublicKey]int64 {
	now := w.o.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[solana.PublicKey]int64{}
	for key, s := range w.nodes {
		if !s.foundAt.IsZero() && now.Sub(s.foundAt) < fresh && !now.Before(w.notices[key].until) {
			out[key] = w.last(key, s).Unix()
		}
	}
	return out
}

// lastSign is the node's last sign of life: its last answer, or the start of its last lease, which it has signed. ok is
// false when no lease of the node may move.
func lastSign(v *view.Accounts, node solana.PublicKey, answer int64) (last int64, ok bool) {
	last = answer
	for key := range v.LeasesOfNode[node] {
		if l := v.Leases[key]; l.State() == market.LeaseRunning {
			last, ok = max(last, l.StartedAt), ok || movable(l)
		}
	}
	return last, ok
}
