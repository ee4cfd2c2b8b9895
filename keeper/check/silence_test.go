package check

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/keeper/schedule"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// Two answers an hour apart and refusals between them verify what the answers reach, and not the hour.
func TestRefusalsAreNotVerifiedTime(t *testing.T) {
	const begin, interval = int64(7200), 33 * time.Second
	for name, c := range map[string]struct {
		answer answers
		down   bool // the node's own word is the node's doing
	}{
		"refused by the node": {func(_ context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{Version: messages.Version, Nonce: req.Nonce, Refused: "not now"}, nil
		}, true},
		"turned away": {func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, ErrRefused
		}, true},
		"lost on the way": {func(context.Context, messages.ChallengeRequest) (messages.ChallengeResponse, error) {
			return messages.ChallengeResponse{}, ErrTransport
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), begin, 7200)
			lease := b.lease(nil)
			var all []records.CheckStatement
			up := true
			checker, _, what := newChecker(t, func(ctx context.Context, req messages.ChallengeRequest) (messages.ChallengeResponse, error) {
				if !up {
					return c.answer(ctx, req)
				}
				r := alive(req)
				r.Liveness.Leases = []messages.LeaseStatus{{Lease: lease, State: messages.LeaseRunning}}
				return r, nil
			})
			checker.o.Now, checker.o.Tasks = b.o.Now, atOnce{checker.o.Tasks}
			checker.o.Record = func(_ context.Context, f Finding) {
				b.out = nil
				require.NoError(t, b.recordInOrder([]Finding{f}))
				all = append(all, b.out...)
			}
			p := &progress{}
			ask := func(at int64, answers bool) {
				b.at, up = time.Unix(at, 0), answers
				checker.liveness(t.Context(), what.node, p, Check{Node: what.node.Address, Interval: interval})
			}
			refusals := 0
			ask(begin+30, true)
			for at := begin + 90; at < begin+3600; at += 60 {
				ask(at, false)
				refusals++
			}
			ask(begin+3630, true)
			b.at, b.out = time.Unix(begin+7201, 0), nil
			require.NoError(t, b.sealDue())
			node, leased := covered(append(all, b.out...))
			t.Logf("%d refusals between two answers an hour apart: %d s of the node and %d s of the lease are verified, %d s are down", refusals, node[0], leased[0], node[1])
			require.LessOrEqual(t, node[0], uint32(200))
			require.LessOrEqual(t, leased[0], uint32(200))
			if c.down {
				require.GreaterOrEqual(t, node[1], uint32(refusals*30))
				require.GreaterOrEqual(t, leased[1], uint32(refusals*30))
			} else {
				require.Zero(t, node[1], "nor is it down")
			}
		})
	}
}

// atOnce sleeps no time.
type atOnce struct{ schedule.Runner }

func (atOnce) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// A keeper that did not ask knows nothing either: gaps of its own are not verified.
func TestGapsAreNotVerifiedTime(t *testing.T) {
	b := newRecorderFixture(t, filepath.Join(t.TempDir(), "k.db"), 7200, 7200)
	all := b.check(t, 7230, true)
	all = append(all, b.check(t, 10_830, true)...)
	all = append(all, b.check(t, 12_000, false)...)
	b.at, b.out = time.Unix(14_401, 0), nil
	require.NoError(t, b.sealDue())
	node, _ := covered(append(all, b.out...))
	require.LessOrEqual(t, node[0], uint32(80))
	require.LessOrEqual(t, node[1], uint32(40), "a failed check speaks for an interval, too")
	for _, s := range append(all, b.out...) {
		require.LessOrEqual(t, s.CoveredSeconds, uint32(60))
	}
}
