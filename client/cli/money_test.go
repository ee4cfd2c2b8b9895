package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
		"dispute open --kind BAD-OUTPUT --complaint " + dir + "/none " + lease:   "error: --complaint: " + dir + "/none cannot be read: no such file or directory",
		"dispute open " + lease + " --kind bad-output --complaint " + empty:      "error: --complaint: " + empty + " is empty",
		"dispute open " + lease + " --kind bad-output --complaint " + dir:        "error: --complaint: " + dir + " cannot be read: is a directory",
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
