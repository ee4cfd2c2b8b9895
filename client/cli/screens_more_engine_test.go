package cli_test

import (
	"context"
	"encoding/hex"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/records"
)

// A running server has a deployment, which buys nothing before somebody asks its model.
func TestScreensOfDeployments(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	w.InitMarket(testmarket.FastParams())
	me, _ := sessionShell(t, w, w.Customer(50*market.OneUSDC, 40*market.OneUSDC), "20")
	me.serves()
	v := me.serve("--new-token")
	t.Setenv("GANTRY_SERVER", v.url)
	t.Setenv("GANTRY_TOKEN", v.token)
	runs(
		t,
		me.says("deployments", "create", "small", "--template", "vllm", "--set", "model=Qwen/Qwen2.5-0.5B-Instruct", "--max", "3", "--allow-simulated"),
		me.says("deployments", "list"), me.says("deployments", "show", "small"), me.says("deployments", "delete", "small"),
	)
}

// serves runs gantry serve in this process until it has said where it answers.
func (s shell) serves() {
	s.t.Helper()
	ctx, stop := context.WithCancel(s.t.Context())
	defer stop()
	over := make(chan result, 1)
	go func() { over <- s.run(ctx, "serve", "--listen", "127.0.0.1:0") }()
	said := func() bool {
		r := resultsOf(s.t)
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.printed["serve"] > 0
	}
	require.Eventually(s.t, said, time.Minute, 10*time.Millisecond)
	stop()
	r := <-over
	require.Contains(s.t, r.out, "http://127.0.0.1:", r.err)
}

// The report of a keeper says that a node's work was wrong, and the keeper itself has signed that it was right: the fault is voided.
func TestScreensOfAnAppeal(t *testing.T) {
	t.Parallel()
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AppealSecs, params.UnstakeCooldownSecs, params.ReportRetentionSecs = 30, 30, 30
	w.InitMarket(params)
	keeper := w.Keeper()
	sign := []solana.PrivateKey{keeper}
	_, node := w.Node(w.Provider(300*market.OneGNT), testmarket.A100, 1, 1_000_000)

	period := uint64(w.Now())/uint64(params.PeriodSecs) + 1
	leaf := records.Leaf{Node: node.Address, Period: records.Period(period), ChecksPassed: 2, ChecksTotal: 3, UpSeconds: params.PeriodSecs, Flags: records.FlagWorkFailed}
	tree, err := records.LeafTree([]records.Leaf{leaf})
	require.NoError(t, err)
	proof, err := tree.Proof(0)
	require.NoError(t, err)
	end, err := market.PeriodEnd(period, params.PeriodSecs)
	require.NoError(t, err)
	w.Until(end)
	instruction, err := ix.ReportVote(ix.ReportVoteArgs{Keeper: keeper.PublicKey(), Period: period, Root: tree.Root()})
	w.Do("report_vote", sign, instruction, err)
	w.Wait("report final", func(v *view.View) bool {
		r, ok := v.Report(period)
		return ok && r.State() == market.ReportFinal
	})
	instruction, err = ix.FaultOpen(ix.FaultOpenArgs{Payer: keeper.PublicKey(), Node: node, OfNode: true, Proof: ix.NewLeafProof(leaf, proof)})
	w.Do("fault_open", sign, instruction, err)

	mk, _ := w.View.Market()
	statement := records.CheckStatement{
		Domain: records.Domain(mk.Domain), Node: node.Address, Period: records.Period(period), Kind: records.CheckWork, Passed: true,
		Figures: records.Figures{First: 9_000}, CheckedAt: w.Now(),
	}
	signature, err := statement.Sign(keeper)
	require.NoError(t, err)
	raw := statement.Encode()
	anyone := newShell(t, w, keeper)
	var faults []struct{ Address string }
	anyone.ok(&faults, "fault", "list")
	require.Len(t, faults, 1)
	runs(t, anyone.says("fault", "appeal", faults[0].Address, "--keeper", keeper.PublicKey().String(), "--statement", hex.EncodeToString(raw[:]), "--signature", signature.String()))
	anyone.ok(&faults, "fault", "list")
	require.Empty(t, faults, "it is voided")
}
