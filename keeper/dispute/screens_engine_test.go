package dispute_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/clitest"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/keeper/dispute"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/p2p"
	"github.com/gantry-market/gantry/sdk/records"
)

// Both sides of a dispute go to a keeper by the commands of their wallets, and come back from there.
func TestScreensOfADispute(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.AppealSecs, params.ReportRetentionSecs, params.UnstakeCooldownSecs, params.StartDeadlineSecs, params.AwardDeadlineSecs = 120, 120, 120, 60, 60
	w.InitMarket(params)
	keeper, provider := w.Keeper(), w.Provider(100*market.OneGNT)
	nodeKey, node := w.Node(provider, testmarket.A100, 1, 3_600_000)
	w.Until(w.Now() + 1) // a keeper that was active before the dispute
	customer := w.Customer(50*market.OneUSDC, 6*market.OneUSDC)
	lease := w.Award(keeper, w.Order(customer, ix.OrderCreateArgs{
		Nonce: 1, MaxPrice: 3_600_000, Duration: 600, Nodes: 1, GPUsPerNode: 1, Requirement: market.Requirement{Models: market.Models(testmarket.A100), AllowSimulated: 1},
	}), node)
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: lease})
	w.Do("lease_start", []solana.PrivateKey{nodeKey}, instruction, err)

	hub, err := p2p.New(p2p.Options{Key: keeper, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	instruction, err = ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: keeper.PublicKey(), Multiaddr: hub.Addrs()[0]})
	w.Do("keeper_update", []solana.PrivateKey{keeper}, instruction, err)
	complaints, err := dispute.OpenComplaints(filepath.Join(dir, "complaints"), w.View)
	require.NoError(t, err)
	complaints.Join(hub)
	mk, _ := w.View.Market()
	answers, err := dispute.OpenAnswers(dispute.AnswerOptions{
		Dir: filepath.Join(dir, "answers"), View: w.View, Domain: records.Domain(mk.Domain), Now: func() time.Time { return time.Unix(w.Now(), 0) },
	})
	require.NoError(t, err)
	answers.Join(hub)

	flags := func(name string, key solana.PrivateKey) []string {
		path := filepath.Join(dir, name+".json")
		require.NoError(t, chain.SaveKeypair(path, key))
		return []string{"--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--keypair", path, "--state-dir", filepath.Join(dir, name), "--yes"}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	me, owner := flags("customer", customer), flags("provider", provider)
	complaint := write("complaint.txt", "The job began, and wrote nothing for ten minutes.\nIts log: sha256 9f2c.\n")
	at := lease.Address.String()
	clitest.Draws(t, me, "dispute open", at, "--kind", "not-delivered", "--complaint", complaint)
	clitest.Draws(t, me, "dispute send", at, "--complaint", complaint)
	clitest.Draws(t, owner, "dispute answer", at, "--answer", write("answer.txt", "The container had no command: its image ends at once.\n"))
	clitest.Draws(t, me, "dispute read", at)
}
