package team

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"
)

var me = Caller{Member: MemberServer, Token: TokenCommand, Role: Owner}

// A member of each role, with a token of a day.
func newTeam(t *testing.T) (s *Store, dir string, tokens map[string]string) {
	t.Helper()
	dir = t.TempDir()
	s, err := Open(dir)
	require.NoError(t, err)
	_, err = s.AddBudget(me, "ops")
	require.NoError(t, err)
	tokens = map[string]string{}
	for _, m := range []Member{{Name: "ada", Role: Owner}, {Name: "dan", Role: Deployer, Budget: "ops"}, {Name: "vic", Role: Viewer}} {
		require.NoError(t, s.PutMember(me, m))
		_, text, err := s.AddToken(me, MemberToken{Member: m.Name, Name: m.Name + "-ci"}, 24*time.Hour)
		require.NoError(t, err)
		tokens[m.Name] = text
	}
	return s, dir, tokens
}

func TestTokensAreTheirMembers(t *testing.T) {
	s, dir, tokens := newTeam(t)
	other, err := Open(dir) // the command line beside the server
	require.NoError(t, err)
	for name, want := range map[string]Caller{
		"ada": {"ada", "ada-ci", Owner, MainBudget}, "dan": {"dan", "dan-ci", Deployer, "ops"}, "vic": {"vic", "vic-ci", Viewer, ""},
	} {
		got, err := s.Caller(tokens[name])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, text := range []string{"", "gantry_team_x", tokens["ada"] + "x", tokens["ada"][:20]} {
		_, err := s.Caller(text)
		require.ErrorIs(t, err, ErrUnknown, text)
	}
	// Less than its member may: a role of the token.
	_, low, err := s.AddToken(me, MemberToken{Member: "ada", Name: "reads", Role: Viewer}, time.Hour)
	require.NoError(t, err)
	got, err := s.Caller(low)
	require.NoError(t, err)
	require.Equal(t, Viewer, got.Role)
	// A member's role and budget hold at once, also when another process has changed them.
	require.NoError(t, other.PutMember(me, Member{Name: "ada", Role: Viewer}))
	got, err = s.Caller(tokens["ada"])
	require.NoError(t, err)
	require.Equal(t, Caller{"ada", "ada-ci", Viewer, ""}, got)
	require.NoError(t, other.PutMember(me, Member{Name: "dan", Role: Deployer, Budget: MainBudget}))
	got, err = s.Caller(tokens["dan"])
	require.NoError(t, err)
	require.Equal(t, Viewer, got.Role, "a token of a budget that its member has no longer reads")
	require.NoError(t, other.RevokeToken(me, "vic-ci"))
	_, err = s.Caller(tokens["vic"])
	require.ErrorIs(t, err, ErrEnded)
	require.ErrorContains(t, err, "revoked at")
	require.NoError(t, other.RemoveMember(me, "dan"))
	_, err = s.Caller(tokens["dan"])
	require.ErrorIs(t, err, ErrEnded)
	_, short, err := s.AddToken(me, MemberToken{Member: "ada", Name: "short"}, time.Second)
	require.NoError(t, err)
	require.Eventually(t, func() bool { _, err = s.Caller(short); return err != nil }, time.Minute, 20*time.Millisecond)
	require.ErrorIs(t, err, ErrEnded)
	require.ErrorContains(t, err, "expired at")
}

func TestWhatCannotBe(t *testing.T) {
	s, _, _ := newTeam(t)
	wallet := solana.NewWallet().PublicKey().String()
	require.NoError(t, s.PutMember(me, Member{Name: "eve", Role: Viewer, Wallet: wallet}))
	name, err := s.ByWallet(wallet)
	require.NoError(t, err)
	require.Equal(t, "eve", name)
	for what, m := range map[string]Member{
		"no name": {Role: Viewer}, "reserved": {Name: "server", Role: Viewer}, "no role": {Name: "x"}, "unknown role": {Name: "x", Role: "king"},
		"deployer without budget": {Name: "x", Role: Deployer}, "viewer with one": {Name: "x", Role: Viewer, Budget: "ops"}, "unknown budget": {Name: "x", Role: Deployer, Budget: "no"},
		"no wallet": {Name: "x", Role: Viewer, Wallet: "abc"}, "another's wallet": {Name: "x", Role: Viewer, Wallet: wallet},
	} {
		require.ErrorIs(t, s.PutMember(me, m), ErrInvalid, what)
	}
	for what, x := range map[string]MemberToken{
		"more than its member": {Name: "x", Member: "vic", Role: Deployer, Budget: "ops"}, "another's budget": {Name: "x", Member: "dan", Budget: MainBudget},
	} {
		_, _, err := s.AddToken(me, x, time.Hour)
		require.ErrorIs(t, err, ErrInvalid, what)
	}
	_, _, err = s.AddToken(me, MemberToken{Name: "x", Member: "ada"}, 2*LongestToken)
	require.ErrorIs(t, err, ErrInvalid)
	_, _, err = s.AddToken(me, MemberToken{Name: "ada-ci", Member: "ada"}, time.Hour)
	require.ErrorIs(t, err, ErrExists)
	_, _, err = s.AddToken(me, MemberToken{Name: "x", Member: "nobody"}, time.Hour)
	require.ErrorIs(t, err, ErrUnknown)
	for _, name := range []string{"two", "three"} {
		_, err = s.AddBudget(me, name)
		require.NoError(t, err)
	}
	_, err = s.AddBudget(me, "four")
	require.ErrorIs(t, err, ErrFull, "a customer has four session keys, and main is one")
	first, err := s.AddBudget(me, "two")
	require.NoError(t, err)
	again, err := s.AddBudget(me, "two")
	require.NoError(t, err)
	require.Equal(t, first, again)
}

// Neither tokens nor their hashes come out, and the files are their owner's alone.
func TestSecretsAreKept(t *testing.T) {
	s, dir, tokens := newTeam(t)
	all, err := s.Team()
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprint(all), "Hash")
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		if path != dir {
			require.Zero(t, info.Mode().Perm()&0o077, path)
		}
		if d.IsDir() {
			return nil
		}
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, text := range tokens {
			require.NotContains(t, string(raw), text, path)
			require.NotContains(t, string(raw), strings.TrimPrefix(text, tokenPrefix), path)
		}
		return nil
	}))
}

func TestTheLogShowsWhatWasChanged(t *testing.T) {
	s, dir, _ := newTeam(t)
	done, err := s.Begin(Line{Caller: me, Action: "POST /v1/orders \xff", Key: "k"})
	require.NoError(t, err)
	require.NoError(t, done("201 Created", "order", []string{"lease"}))
	_, err = s.Begin(Line{Caller: me, Action: "POST /v1/leases/x/stop"})
	require.NoError(t, err)
	// The server is killed here; the next one says so.
	next, err := Open(dir)
	require.NoError(t, err)
	require.NoError(t, next.CloseOpen())
	require.NoError(t, next.CloseOpen())
	lines, checked, err := next.Lines(0, true, 100)
	require.NoError(t, err)
	n := len(lines)
	require.EqualValues(t, n, checked.Lines)
	require.Equal(t, lines[n-1].Of, lines[n-2].N)
	require.Contains(t, lines[n-1].Result, "not known")
	require.Equal(t, "201 Created", lines[n-3].Result)
	require.Equal(t, []string{"lease"}, lines[n-3].Leases)
	require.Equal(t, "put-member", lines[2].Action)
	require.Equal(t, "done", lines[3].Result)
	require.Equal(t, lines[2].N, lines[3].Of)
	few, _, err := next.Lines(2, false, 3)
	require.NoError(t, err)
	require.Equal(t, lines[2:5], few)
	last, _, err := next.Lines(0, true, 2)
	require.NoError(t, err)
	require.Equal(t, lines[n-2:], last)
	noted := lines[4].Hash
	_, err = next.Check(noted)
	require.NoError(t, err)
	_, err = next.Check("00")
	require.ErrorIs(t, err, ErrLog)

	path := filepath.Join(dir, fileLog)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	rows := bytes.SplitAfter(whole, []byte("\n"))
	for what, text := range map[string][]byte{
		"a line changed":        bytes.Replace(whole, []byte(`"dan as deployer`), []byte(`"dan as owner   `), 1),
		"a line removed":        bytes.Join(append(append([][]byte{}, rows[:3]...), rows[4:]...), nil),
		"lines exchanged":       bytes.Join(append([][]byte{rows[1], rows[0]}, rows[2:]...), nil),
		"the last lines gone":   bytes.Join(rows[:n-2], nil),
		"all gone":              nil,
		"one whose hash is new": bytes.Replace(whole, []byte(`"n":1,`), []byte(`"n": 1,`), 1),
	} {
		require.NotEqual(t, whole, text, what)
		require.NoError(t, os.WriteFile(path, text, 0o600))
		other, err := Open(dir)
		require.NoError(t, err)
		_, err = other.Check("")
		require.ErrorIs(t, err, ErrLog, what)
	}
	// A line that was not written whole is cut off: its change did not happen.
	require.NoError(t, os.WriteFile(path, append(bytes.Clone(whole), rows[0][:20]...), 0o600))
	torn, err := Open(dir)
	require.NoError(t, err)
	c, err := torn.Check("")
	require.NoError(t, err)
	require.True(t, c.Torn)
	require.NoError(t, torn.PutMember(me, Member{Name: "x", Role: Viewer}))
	c, err = torn.Check(noted)
	require.NoError(t, err)
	require.EqualValues(t, n+2, c.Lines)
	require.False(t, c.Torn)
}

// The server and commands write one log at the same time.
func TestManyWriteOneLog(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for i := range 4 {
		s, err := Open(dir)
		require.NoError(t, err)
		wg.Go(func() {
			for j := range 10 {
				if err := s.PutMember(me, Member{Name: fmt.Sprintf("m%d-%d", i, j), Role: Viewer}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	s, err := Open(dir)
	require.NoError(t, err)
	all, err := s.Team()
	require.NoError(t, err)
	require.Len(t, all.Members, 40)
	c, err := s.Check("")
	require.NoError(t, err)
	require.EqualValues(t, 80, c.Lines)
}
