//go:build e2e

package scenario

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// sponsored runs commands of a wallet whose fees and rent a `gantry serve` pays.
type sponsored struct {
	t      *testing.T
	n      *network.Network
	wallet seed.Wallet
	at     string
	token  string
}

// newSponsored is a wallet with USDC and without a lamport.
func newSponsored(t *testing.T, n *network.Network, served network.Served, name string) *sponsored {
	w, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), name)
	require.NoError(t, err)
	require.NoError(t, seed.Fund(t.Context(), n.Sender(), n.Keys, w.Address(), 0, 5*seed.USDC, 0))
	token, err := os.ReadFile(served.TokenFile)
	require.NoError(t, err)
	s := &sponsored{t: t, n: n, wallet: w, at: served.URL + "/sponsor", token: strings.TrimSpace(string(token))}
	require.Zero(t, s.sol(), "it never had a lamport")
	return s
}

// run runs a command, and returns its exit code and what it says to people.
func (s *sponsored) run(args ...string) (int, string) {
	s.t.Helper()
	cmd := s.n.Command(s.t.Context(), s.wallet, append([]string{"--json", "--sponsor", s.at}, args...)...)
	cmd.Env = append(cmd.Env, "GANTRY_SPONSOR_TOKEN="+s.token)
	var says bytes.Buffer
	cmd.Stderr = &says
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), says.String()
	}
	require.NoError(s.t, err, says.String())
	return 0, says.String()
}

func (s *sponsored) ok(args ...string) {
	s.t.Helper()
	code, says := s.run(args...)
	require.Zero(s.t, code, "%v: %s", args, says)
}

func (s *sponsored) sol() chain.Lamports { return solOf(s.t, s.n, s.wallet) }

func solOf(t *testing.T, n *network.Network, w seed.Wallet) chain.Lamports {
	t.Helper()
	held, err := n.Chain.Balance(t.Context(), w.Address(), chain.Confirmed)
	require.NoError(t, err)
	return held
}

// A customer with USDC and without SOL deposits, rents, stops and withdraws: a sponsor pays. What the sponsor can lose to somebody who
// opens and closes accounts is the limit of a day, whatever is tried, also after the server was started anew.
func TestACustomerWithoutSOL(t *testing.T) {
	t.Parallel()
	n, owner := newMarket(t)
	payer, err := seed.OpenWallet(filepath.Join(n.Dir(), "keys"), "sponsor")
	require.NoError(t, err)
	require.NoError(t, seed.Fund(t.Context(), n.Sender(), n.Keys, payer.Address(), chain.Lamports(1_000_000_000), 0, 0))
	const most = 20_000_000
	pays := []string{"--sponsor-key", payer.Path, "--sponsor-day", "0.02", "--sponsor-total", "0.1"}
	served, err := n.StartServe(t.Context(), owner, "1", pays...)
	require.NoError(t, err)
	before := solOf(t, n, payer)

	poor := newSponsored(t, n, served, "poor")
	code, says := poor.run("--sponsor", "", "credits", "add", "1")
	require.Equal(t, refusedByMarket, code, "without a sponsor")
	require.Contains(t, says, "SOL")
	poor.ok("credits", "add", "3")
	require.Zero(t, poor.sol(), "exactly the rent")
	deposited := before - solOf(t, n, payer)
	t.Logf("the first deposit costs the sponsor %s", deposited)
	poor.ok("credits", "add", "1")
	poor.ok("deploy", "--gpu", "A100", "--max-price", "1.60", "--duration", "5m", "--allow-simulated", "--detach", "--", "sleep", "300")
	require.Zero(t, poor.sol())
	rented := before - solOf(t, n, payer)
	t.Logf("the order costs it %s more", rented-deposited)
	var lease market.Lease
	for _, l := range snapshotOf(t, n).LeasesOfCustomer(poor.wallet.Address()) {
		lease = l
	}
	require.Equal(t, market.LeaseRunning, lease.State())
	id := lease.Address.String()
	poor.ok("extend", id, "--minutes", "1")
	require.NoError(t, pause(t.Context(), 4*time.Second)) // so that something is owed, by any chain's clock
	poor.ok("stop", id)
	require.Eventually(t, func() bool {
		l, open := snapshotOf(t, n).Lease(lease.Address)
		return !open || l.EndedAt > 0
	}, 30*time.Second, 200*time.Millisecond)
	poor.ok("credits", "withdraw", "1")
	require.LessOrEqual(t, before-solOf(t, n, payer), chain.Lamports(most))

	// What is none of the market's is not paid for, and no stranger's.
	code, says = poor.run("session", "add", owner.Address().String(), "--cap", "1", "--fund", "0.01")
	require.Equal(t, refusedByMarket, code)
	require.Contains(t, says, "rule transfer")
	stranger := *poor
	stranger.token = "gantry_stranger"
	code, says = stranger.run("credits", "withdraw", "1")
	require.Equal(t, refusedByMarket, code)
	require.Contains(t, says, "GANTRY_SPONSOR_TOKEN")
	stranger.at = "http://127.0.0.1:9/sponsor"
	code, says = stranger.run("credits", "withdraw", "1")
	require.Equal(t, networkTrouble, code)
	require.Contains(t, says, "does not answer")

	// Whoever opens and closes accounts takes the rent home, until the limit.
	thief := newSponsored(t, n, served, "thief")
	held := solOf(t, n, payer)
	rounds, taken := 0, chain.Lamports(0)
	for {
		code, says = thief.run("credits", "add", "1")
		if code != 0 {
			break
		}
		require.Less(t, rounds, 20)
		thief.ok("credits", "close")
		has := thief.sol()
		_, err := n.Sender().Send(t.Context(), thief.wallet.Key, nil, system.NewTransferInstruction(uint64(has-chain.SignatureFee), thief.wallet.Address(), owner.Address()).Build())
		require.NoError(t, err)
		taken += has - chain.SignatureFee
		rounds++
	}
	lost := held - solOf(t, n, payer)
	t.Logf("the thief took %s in %d rounds, which cost the sponsor %s of a limit of %s", taken, rounds, lost, chain.Lamports(most))
	require.Equal(t, refusedByMarket, code)
	require.Contains(t, says, "rule limit")
	require.Contains(t, says, "begins anew at")
	require.Positive(t, rounds)
	require.LessOrEqual(t, taken, lost)
	require.LessOrEqual(t, lost, chain.Lamports(most))

	// A server that is started anew has not forgotten what was spent.
	require.NoError(t, n.Stop(t.Context(), "serve"))
	require.NoError(t, os.Remove(n.LogPath("serve")))
	served, err = n.StartServe(t.Context(), owner, "1", pays...)
	require.NoError(t, err)
	thief.at = served.URL + "/sponsor"
	code, says = thief.run("credits", "add", "1")
	require.Equal(t, refusedByMarket, code)
	require.Contains(t, says, "rule limit")

	snapshot, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	require.Empty(t, invariants.NewChecker().Check(snapshot))
}
