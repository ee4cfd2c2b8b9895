package cli_test

import (
	"context"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
)

// A command dies just after it has handed over its job. The one that goes on with it asks the machine in the moment in
// which the lease ends, and says what the job did and cost, and not that the machine refuses it.
func TestResumingALeaseThatIsOverSaysWhatItCost(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"it has ended": false, "it is closed": true} {
		t.Run(name, func(t *testing.T) { resumeOver(t, closed) })
	}
}

func resumeOver(t *testing.T, closed bool) {
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 60, 60
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "what the job wrote\n", hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}}
	m.provider = w.Provider(100 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 1, 3_600_000)
	m.serve(t)
	close(m.hold) // the job has ended by itself
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	me := newShell(t, w, customer)
	_, ended := me.killedOnceOrdered("deploy", "--name", "train", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated", "--", "true")
	require.False(t, ended)
	lease := m.award(customer.PublicKey(), node)
	m.mu.Lock()
	m.jobs[lease.Address] = messages.JobSpec{} // the command has brought it
	require.NoError(t, m.start(lease))
	m.over = func(l market.Lease) error {
		end, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: m.key.PublicKey(), Lease: l})
		if err != nil {
			return err
		}
		if _, err = w.Try("lease_end", []solana.PrivateKey{m.key}, end); err != nil || !closed {
			return err
		}
		l = w.Lease(l.Address, func(l market.Lease) bool { return l.State() == market.LeaseEnded })
		w.Until(l.EndedAt + 2*int64(l.SettleSecs) + 1) // nobody claims anything
		end, err = ix.LeaseClose(ix.LeaseCloseArgs{Authority: customer.PublicKey(), Lease: l})
		if err == nil {
			_, err = w.Try("lease_close", []solana.PrivateKey{customer}, end)
		}
		return err
	}
	m.mu.Unlock()
	l := w.Lease(lease.Address, func(l market.Lease) bool { return l.State() == market.LeaseRunning })
	w.Until(l.StartedAt + 2)

	r := me.run(context.Background(), "resume", "train")
	t.Log(r.err + r.out)
	require.Equal(t, cli.ExitDone, r.code)
	require.NotContains(t, r.err, "refuses")
	require.Contains(t, r.err, "over     lease "+lease.Address.String())
	if !closed {
		require.Regexp(t, `\(job done\): [0-9]+ s are billed, 0\.0[0-9]*[1-9]`, r.err)
	}
	for _, says := range []string{"what the job wrote", "ended (job done)", "exit code 0"} {
		require.Contains(t, r.out, says)
	}
	var left []struct{ Order string }
	me.ok(&left, "resume")
	require.Empty(t, left)
}
