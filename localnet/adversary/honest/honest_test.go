package honest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

func usual() Options {
	return Bad(Options{Engine: engine.Surfnet, For: 4 * time.Minute, Period: 7 * time.Second, Busy: 2})
}

func TestOptions(t *testing.T) {
	require.NoError(t, usual().check())
	for name, change := range map[string]func(*Options){
		"too short":     func(o *Options) { o.For = 20 * time.Second },
		"short period":  func(o *Options) { o.Period = 4 * time.Second },
		"odd period":    func(o *Options) { o.Period = 7500 * time.Millisecond },
		"busy":          func(o *Options) { o.Busy = -1 },
		"too far":       func(o *Options) { o.Lag = mostLag + 1 },
		"negative lag":  func(o *Options) { o.Lag = -1 },
		"share":         func(o *Options) { o.Empty = 1.1 },
		"negative drop": func(o *Options) { o.Drop = -1 },
	} {
		o := usual()
		change(&o)
		require.ErrorIs(t, o.check(), ErrOptions, name)
	}
}

// Every honest machine and one keeper have a bad RPC node, some of them one that is behind; cheats have a good one, and
// are dear.
func TestMembers(t *testing.T) {
	o := usual()
	c := o.config()
	require.Len(t, c.Nodes, len(o.machines())+len(cheats))
	require.Len(t, c.Spoiled, len(o.machines())+1)
	require.Equal(t, "keeper-4", o.keeper().name)
	lags := map[string]time.Duration{}
	for _, m := range o.spoiled() {
		lags[m.name] = m.lag()
		require.Positive(t, m.faults.Empty)
	}
	require.Equal(t, map[string]time.Duration{"honest-1": 0, "honest-2": 10 * time.Second, "honest-3": 30 * time.Second, "keeper-4": 30 * time.Second}, lags)
	for _, n := range c.Nodes {
		require.True(t, n.Setup)
		require.LessOrEqual(t, len(n.Region), 16)
		_, cheats := c.Flags[n.Name]
		require.Equal(t, cheats, n.Price == dear, n.Name)
	}
	require.Equal(t, uint64(100*market.OneGNT), stake())
}

func TestWhatAJobHasPrinted(t *testing.T) {
	lease := solana.PublicKey{7}.String()
	x := read(rental{}, network.Output{Stdout: `{"leases":[{"address":"` + lease + `"}]}`, Stderr: "job began\n ✓ x\njob is done\n"})
	require.Equal(t, rental{Lease: lease, Began: true, Done: true}, x)
	x = read(rental{Job: endless}, network.Output{Stderr: "job began\njob runs at 100\njob runs at 104\n · exited   with code 143; lease " + lease + " is over\nerror: the job failed\n"})
	require.Equal(t, rental{Job: endless, Lease: lease, Began: true, Last: time.Unix(104, 0)}, x)
	x = read(rental{}, network.Output{Stderr: "sh -c echo job began; sleep 3; echo job is done\n"})
	require.False(t, x.Began || x.Done, "the command line is not what the job prints")
	require.Equal(t, "error: the job failed its output is above", reason("gantry --keypair /x deploy: exit code 5: job began\nerror: the job failed\n  its output is above"))
}

func TestWhatBecameOfAJob(t *testing.T) {
	paid := &fate{started: 50, fundedUntil: 100, paidSecs: 50, reason: market.EndedUnfunded}
	for name, tc := range map[string]struct {
		x      rental
		f      *fate
		want   Leases
		killed string
	}{
		"done":             {rental{Began: true, Done: true}, &fate{started: 50, fundedUntil: 100, reason: market.EndedJobDone}, Leases{Done: 1}, ""},
		"no end":           {rental{Began: true}, paid, Leases{Killed: 1}, "did not print its end; the lease ended: funds used up"},
		"no end, with why": {rental{Began: true, Why: "error: x"}, paid, Leases{Killed: 1}, "; the customer's command: error: x"},
		"funded end":       {rental{Job: endless, Began: true, Last: time.Unix(98, 0)}, paid, Leases{Funded: 1}, ""},
		"before":           {rental{Job: endless, Began: true, Last: time.Unix(80, 0)}, paid, Leases{Killed: 1}, "20s before the funded end"},
		"no start":         {rental{Job: endless, Began: true, Last: time.Unix(80, 0)}, &fate{}, Leases{Killed: 1}, "no start of its lease"},
		"no machine":       {rental{}, &fate{}, Leases{Unserved: 1}, ""},
		"aborted":          {rental{}, &fate{aborted: true}, Leases{Unserved: 1}, ""},
		"never began":      {rental{}, paid, Leases{Killed: 1}, "never began, and 50 s of it were paid for"},
		"nothing paid":     {rental{}, &fate{started: 50, fundedUntil: 100, reason: market.EndedUnfunded}, Leases{Idle: 1}, ""},
		"by the provider":  {rental{Began: true, Done: true}, &fate{started: 50, reason: market.EndedByProvider}, Leases{Killed: 1}, "by provider"},
		"failed":           {rental{Began: true}, &fate{started: 50, failed: true}, Leases{Killed: 1}, "the lease failed"},
	} {
		var l Leases
		killed := count(&l, tc.x, tc.f)
		tc.want.Ordered = 1
		require.Equal(t, tc.want, l, name)
		require.Equal(t, tc.killed == "", killed == "", name)
		require.Contains(t, killed, tc.killed, name)
	}
}

func TestFatesAreRead(t *testing.T) {
	a, b, node := solana.PublicKey{1}, solana.PublicKey{2}, solana.PublicKey{3}
	got := fates(invariants.History{Transactions: []invariants.Transaction{
		{Events: []any{&bindings.LeaseAwarded{Lease: a, Node: node}, &bindings.LeaseAwarded{Lease: b, Node: node}}},
		{Events: []any{&bindings.LeaseStarted{Lease: a, StartedAt: 5, FundedUntil: 9}, &bindings.LeaseAborted{Lease: b}}},
		{Events: []any{&bindings.LeaseEnded{Lease: a, Reason: uint8(market.EndedJobDone)}, &bindings.LeaseClosed{Lease: a, PaidSecs: 4}}},
	}})
	require.Equal(t, map[string]*fate{
		a.String(): {node: node, started: 5, fundedUntil: 9, reason: market.EndedJobDone, paidSecs: 4},
		b.String(): {node: node, aborted: true},
	}, got)
}

// fine is a result in which nothing is wrong.
func fine() *Result {
	return &Result{
		Options: usual(), Periods: 30, Checks: 1,
		Machines: []Machine{
			{Name: "honest-1", Put: 100, Stake: 100, Completed: 3, Figures: 20, Taken: 8, Leases: Leases{Ordered: 3, Done: 2, Funded: 1}, Runs: map[string]float64{"over": 20, "block": 0}},
			{Name: "cheat-wrong", Does: "cheats", Put: 100, Stake: 50, Suspended: true, Faults: []string{"work-failed"}, Wrong: 4},
		},
		Keepers: []Keeper{{Name: "keeper-1", Put: 10, Bond: 10}},
	}
}

func TestWhatIsWrong(t *testing.T) {
	require.Empty(t, fine().Wrong())
	for want, change := range map[string]func(*Result){
		"honest-1 is honest and has":       func(r *Result) { r.Machines[0].Stake-- },
		"has a fault: offline":             func(r *Result) { r.Machines[0].Faults = []string{"offline"} },
		"was suspended":                    func(r *Result) { r.Machines[0].Suspended = true },
		"1 leases in its record":           func(r *Result) { r.Machines[0].Failed = 1 },
		"called 2 measurements":            func(r *Result) { r.Machines[0].Wrong = 2 },
		"evaded 2 measurements":            func(r *Result) { r.Machines[0].Evaded = 2 },
		"crashed":                          func(r *Result) { r.Machines[0].Restarts = 1 },
		"cheats and has lost nothing":      func(r *Result) { r.Machines[1].Stake = 100 },
		"cheats and has no fault":          func(r *Result) { r.Machines[1].Faults = nil },
		"of its bond":                      func(r *Result) { r.Keepers[0].Bond-- },
		"a job was killed: x":              func(r *Result) { r.Kills = []string{"x"} },
		"no job ran until its end":         func(r *Result) { r.Machines[0].Leases = Leases{} },
		"no report became final":           func(r *Result) { r.Periods = 0 },
		"the invariants were never":        func(r *Result) { r.Checks = 0 },
		"money is missing":                 func(r *Result) { r.Violations = []string{"money is missing"} },
		"should have been closed: a lease": func(r *Result) { r.Left = []string{"a lease"} },
	} {
		r := fine()
		change(r)
		require.Len(t, r.Wrong(), 1, want)
		require.Contains(t, r.Wrong()[0], want)
	}
}

func TestThePage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, fine().Markdown(&b))
	require.Contains(t, b.String(), "No honest machine lost stake")
	require.Contains(t, b.String(), "| honest-1 | 20 | 8 | 2 | over 20 | 0 | none | 0 | 0 | none |")
	require.Contains(t, b.String(), "cheat-wrong, which cheats")
	bad := fine()
	bad.Kills = []string{"a | b\nc"}
	b.Reset()
	require.NoError(t, bad.Markdown(&b))
	require.Contains(t, b.String(), "1 things are wrong")
	require.Contains(t, b.String(), `- a job was killed: a \| b c`)
}

func TestWhatIsSeenOfNodes(t *testing.T) {
	s, node := newSeen(), solana.PublicKey{1}
	s.look(view.New(view.Options{}), 5)
	require.Empty(t, s.figures)
	s.fault(node, solana.PublicKey{2}, 7, 4)
	s.fault(node, solana.PublicKey{2}, 7, 0)
	require.Len(t, s.faults[node], 1)
	require.Contains(t, s.faults[node][solana.PublicKey{2}], "work-failed in period 7")
}

func TestLogsAreRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	require.NoError(t, os.WriteFile(path, []byte("a crash\n"+`{"level":"warn","message":"node's measurement is wrong","node":"N","error":"e"}`+"\n"), 0o600))
	var got []logLine
	require.NoError(t, readLog(path, func(l logLine) { got = append(got, l) }))
	require.Equal(t, []logLine{{Level: "warn", Message: saysWrong, Node: "N", Error: "e"}}, got)
	require.Error(t, readLog(path+".none", nil))
	require.Equal(t, "the key … may not ask", anonymous("the key "+solana.PublicKey{7}.String()+" may not ask"))
}
