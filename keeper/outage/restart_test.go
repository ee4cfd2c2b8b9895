package outage

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// notice has a node say that its agent starts again. It reports whether the keeper waits.
func (f *fixture) notice(from, node solana.PublicKey, secs uint16) bool {
	answer, err := f.watch.restarting(f.t.Context(), from, messages.RestartNotice{Version: messages.Version, Node: node, Secs: secs})
	return err == nil && answer.Refused == ""
}

func TestARestartThatIsToldOfIsWaitedFor(t *testing.T) {
	f := answering(t, 4)
	require.True(t, f.notice(leased, leased, 60))
	gone := f.now.Unix()
	f.nodes.outcome[leased] = errGone
	for range 58 {
		f.pass(1)
		f.heard()
		require.Empty(t, f.votes())
	}
	f.pass(3)
	votes := f.votes()
	require.Len(t, votes, 1, "it has not come back")
	require.LessOrEqual(t, votes[0].Since-silenceSecs, gone, "the notice is no sign of life: what it is paid for ends before")
}

// A node gains a minute in ten by it, not more.
func TestNoticesThatDoNotCount(t *testing.T) {
	f := answering(t, 4)
	other := solana.PublicKey{2}
	require.False(t, f.notice(leased, leased, messages.MaxRestartSecs+1))
	require.False(t, f.notice(leased, leased, 0))
	require.False(t, f.notice(other, leased, 60), "another's")
	require.False(t, f.notice(other, solana.PublicKey{77}, 60), "nobody's")
	require.Empty(t, f.watch.notices, "nothing is kept of them")

	require.True(t, f.notice(leased, leased, 5))
	f.pass(6)
	require.False(t, f.notice(leased, leased, 60), "once in ten minutes")
	f.nodes.outcome[leased] = errGone
	f.pass(12)
	require.Len(t, f.votes(), 1)

	delete(f.nodes.outcome, leased)
	f.pass(int(restartEvery.Seconds()))
	f.heard()
	require.Empty(t, f.watch.notices)
	require.True(t, f.notice(leased, leased, 60))
}

// The lease may have started a moment ago.
func TestANoticeBeforeTheFirstQuestion(t *testing.T) {
	f := newFixture(t, 4)
	f.heard()
	require.True(t, f.notice(leased, leased, 30))
	f.nodes.outcome[leased] = errGone
	for range 29 {
		f.pass(1)
		f.heard()
		require.Empty(t, f.votes())
	}
	f.pass(3)
	require.Len(t, f.votes(), 1)
}

// A lease that ends and another that starts do not make a second notice count.
func TestANoticeIsRememberedBeyondTheLease(t *testing.T) {
	f := answering(t, 4)
	require.True(t, f.notice(leased, leased, 1))
	f.lease(60, func(l *market.Lease) { l.Lease.Status = uint8(market.LeaseEnded) })
	f.pass(2)
	f.lease(61, nil)
	f.pass(2)
	require.False(t, f.notice(leased, leased, 60))
}
