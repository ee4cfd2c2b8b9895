package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/dispute"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// What the command line alone decides is refused before anybody is asked.
func TestMoneyArguments(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	empty, full := filepath.Join(dir, "empty"), filepath.Join(dir, "full")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	require.NoError(t, os.WriteFile(full, []byte("x"), 0o600))
	const lease = "Ciwj8PqZQka6qhy9cBxaBPGSZ4dbCVHVmTqpTwRZ9tqB"
	for args, text := range map[string]string{
		"dispute open": "error: LEASE is missing\n       write: gantry dispute open LEASE",
		"dispute open " + lease + " extra --kind bad-output --complaint " + full: `error: "extra" is one argument too many`,
		"dispute open " + lease + " --complaint " + full:                         "error: --kind: \"\" is not a kind of dispute\n       give not-delivered or bad-output",
		"dispute open " + lease + " --kind late --complaint " + full:             `error: --kind: "late" is not a kind of dispute`,
		"dispute open " + lease + " --kind bad-output":                           "error: --complaint is missing",
		"dispute open --kind BAD-OUTPUT --complaint " + dir + "/none " + lease:   "error: --complaint: open " + dir + "/none",
		"dispute open " + lease + " --kind bad-output --complaint " + empty:      "error: --complaint: " + empty + " is empty",
		"dispute open " + lease + " --kind bad-output --complaint " + dir:        "error: --complaint: read " + dir,
		"gateway pay --via x --amount 1":                                         "error: LEASE is missing\n       write: gantry gateway pay LEASE",
		"gateway pay --via x --amount 0 " + lease:                                "error: an amount of 0 moves nothing",
		"gateway pay --via x --amount 1.0000001 " + lease:                        "error: \"1.0000001\"",
		"dispute show a b":                                       `error: "b" is one argument too many`,
		"dispute close":                                          `error: "close" is not a command of gantry dispute`,
		"keeper vote-dispute --uphold":                           "error: LEASE is missing",
		"keeper vote-dispute " + lease:                           "error: say how to vote\n       give --uphold",
		"keeper vote-dispute --uphold --reject " + lease:         "error: say how to vote",
		"keeper vote-dispute " + lease + " --abstain":            "error: flag provided but not defined: -abstain",
		"rewards show all":                                       `error: "all" is one argument too many`,
		"rewards claim " + lease:                                 `error: "` + lease + `" is one argument too many`,
		"rewards claim --keeper nobody":                          `error: "nobody" is not the address of a keeper's wallet`,
		"rewards buy-back":                                       "error: --max is missing",
		"rewards buy-back 5":                                     `error: "5" is one argument too many`,
		"rewards buy-back --max 1,5":                             "error: --max:",
		"rewards buy-back --max -1":                              "error: --max:",
		"rewards buy-back --max 5 -k " + dir + "/no-such-wallet": "error: keypair file does not exist",
	} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), Streams{Out: &out, Err: &errs}, strings.Fields(args))
		require.Equal(t, ExitUsage, code, "%s: %s", args, errs.String())
		require.True(t, strings.HasPrefix(errs.String(), text), "%s: %s", args, errs.String())
		require.Equal(t, 2, strings.Count(errs.String(), "\n"), "%s: a reason and advice: %s", args, errs.String())
	}
	// Right arguments reach for the network, and say so.
	for _, args := range []string{"dispute show", "dispute show " + lease, "rewards show"} {
		var out, errs bytes.Buffer
		code := Run(context.Background(), Streams{Out: &out, Err: &errs}, append(strings.Fields(args), "--url", "http://127.0.0.1:1", "--json"))
		require.Equal(t, ExitNetwork, code, "%s: %s", args, errs.String())
		require.Contains(t, out.String(), `"exit": 3`, args)
	}
}

func TestMoneyCommandsAreCompleted(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	for args, want := range map[string][]string{
		"dispute": {"open", "send", "show"}, "rewards": {"show", "claim", "buy-back"}, "keeper": {"vote-dispute"},
		"dispute open -": {"--kind", "--complaint"}, "keeper vote-dispute -": {"--uphold", "--reject"}, "rewards buy-back -": {"--max"},
	} {
		var out, errs bytes.Buffer
		asked := append(strings.Fields(args), "--generate-bash-completion")
		os.Args = append([]string{"gantry"}, asked...) // where the library looks for what is being completed
		code := Run(context.Background(), Streams{Out: &out, Err: &errs}, asked)
		require.Equal(t, ExitDone, code, "%s: %s", args, errs.String())
		for _, w := range want {
			require.Contains(t, out.String(), w, args)
		}
	}
}

func TestEvidenceHash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "complaint")
	content := bytes.Repeat([]byte("what went wrong\n"), 10_000)
	require.NoError(t, os.WriteFile(path, content, 0o600))
	raw, hash, err := readComplaint(path)
	require.NoError(t, err)
	require.Equal(t, content, raw)
	require.Equal(t, sha256.Sum256(content), hash)
	require.NoError(t, os.WriteFile(path, bytes.Repeat(content, 2), 0o600))
	_, _, err = readComplaint(path)
	require.ErrorContains(t, err, "has more than 256 KiB")
}

func TestDescribeDispute(t *testing.T) {
	k := market.Keeper{}
	k.Index, k.Wallet = 9, solana.PublicKey{7}
	d := market.Dispute{}
	d.Kind, d.Deposit, d.ClosesAt, d.TotalWeight = uint8(market.DisputeBadOutput), 5_000_000, 160, 3_000_000_000
	d.RejectedVoters[1], d.RejectedWeight = 0b11, 1_000_000_000
	d.QuorumBps = 6_667
	for _, c := range []struct {
		upheld, rejected uint64
		now              int64
		verdict, next    string
		left             int64
	}{
		{0, 1_000_000_000, 100, "no quorum yet", "66.67 % of the weight on one side decides; undecided it ends in 1m0s", 60},
		{0, 1_000_000_000, 160, "no quorum yet", "its time is over", 0},
		{0, 1_000_000_000, 200, "no quorum yet", "its time is over", 0},
		{2_100_000_000, 0, 100, "upheld", "the deposit is free then", 60},
		{0, 2_100_000_000, 100, "rejected", "the deposit is lost then", 60},
	} {
		d.UpheldWeight, d.RejectedWeight = c.upheld, c.rejected
		j := dispute.Describe(&d, []market.Keeper{k}, c.now)
		require.Equal(t, c.verdict, j.Verdict)
		require.Contains(t, j.Next(), c.next)
		require.Equal(t, c.left, j.SecondsLeft)
		require.Equal(t, []string{"8", k.Wallet.String()}, j.RejectedBy)
		require.Equal(t, []string{}, j.UpheldBy)
		require.Equal(t, "5.00", j.Deposit)
		var b bytes.Buffer
		printDispute(&b, &j)
		require.Contains(t, b.String(), fmt.Sprintf("%s of 3 GNT", market.GNT(c.rejected)))
	}
}

func TestOutputOfALeaseInWords(t *testing.T) {
	v := view.New(view.Options{})
	l := market.Lease{}
	l.Status = uint8(market.LeaseRunning)
	for state, want := range map[market.OutputState]string{
		market.OutputNone: "", market.OutputWanted: "awaited", market.OutputCommitted: "committed", market.OutputRevealed: "shown",
		market.OutputAccepted: "accepted", market.OutputRejected: "rejected", market.OutputWithheld: "withheld",
	} {
		l.Output = uint8(state)
		j := service.DescribeLease(v, &l, 0)
		require.Equal(t, want, j.Output)
		var b bytes.Buffer
		leaseSummary(&b, &j)
		require.Equal(t, want != "", strings.Contains(b.String(), "output "+want))
	}
}
