package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	ucli "github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/client/cli"
	"github.com/gantry-market/gantry/client/cli/command"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/arguments"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/screen"
	"github.com/gantry-market/gantry/internal/testkit/screentest"
	"github.com/gantry-market/gantry/internal/testkit/testmarket"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

// shell runs the command against a market as one wallet.
type shell struct {
	t    *testing.T
	args []string
	// session is the file of a session key, for the commands that act with one.
	session string
	// env is what its processes have besides the test's own environment.
	env []string
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

func (r result) first() string {
	line, _, _ := strings.Cut(r.err, "\n")
	return line
}

func newShell(t *testing.T, w *testmarket.Testbed, key solana.PrivateKey) shell {
	t.Helper()
	path := filepath.Join(t.TempDir(), "id.json")
	require.NoError(t, chain.SaveKeypair(path, key))
	return shell{t: t, args: []string{"--url", w.Endpoint.RPC, "--ws", w.Endpoint.WS, "--keypair", path, "--state-dir", filepath.Join(t.TempDir(), "state"), "--yes"}}
}

func (s shell) run(ctx context.Context, args ...string) result {
	var out, err bytes.Buffer
	code := cli.Run(ctx, cli.Streams{Out: &out, Err: &err, Results: resultsOf(s.t).of(args), Failures: resultsOf(s.t).failed(args)}, append(slices.Clone(s.args), s.withSession(args)...))
	return result{code, out.String(), err.String()}
}

// closes closes a lease that is over, as soon as the period of its last second is.
func (s shell) closes(w *testmarket.Testbed, lease solana.PublicKey) {
	s.t.Helper()
	over := w.Lease(lease, func(l market.Lease) bool { return l.EndedAt > 0 })
	mk, _ := w.View.Market()
	w.Until(over.AddressFreeAt(&mk.Params))
	s.ok(nil, "close", lease.String())
}

// ok runs a command that must succeed, as JSON, and decodes its document.
func (s shell) ok(into any, args ...string) {
	s.t.Helper()
	r := s.run(context.Background(), append([]string{"--json"}, args...)...)
	require.Equal(s.t, cli.ExitDone, r.code, "%v: %s", args, r.err)
	if into != nil {
		require.NoError(s.t, json.Unmarshal([]byte(r.out), into), "%v: %s", args, r.out)
	}
}

// fails runs a command that must fail with a code and a first line.
func (s shell) fails(code int, line string, args ...string) result {
	s.t.Helper()
	r := s.run(context.Background(), args...)
	require.Equal(s.t, code, r.code, "%v: %s%s", args, r.out, r.err)
	require.Contains(s.t, r.first(), line, "%v", args)
	require.NotContains(s.t, r.err, "goroutine")
	return r
}

// withSession names the session key in a command line whose command can act with one.
func (s shell) withSession(args []string) []string {
	if s.session == "" {
		return args
	}
	path := arguments.Locate(command.NewApp(cli.Streams{}, cli.Commands(cli.Streams{})), args, "").Path
	takes := len(path) > 0 && slices.ContainsFunc(path[len(path)-1].Flags, func(f ucli.Flag) bool { return slices.Contains(f.Names(), command.FlagSession) })
	if !takes {
		return args
	}
	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}
	return slices.Insert(slices.Clone(args), end, "--"+command.FlagSession, s.session)
}

// Tests that change the environment run one after the other, and the others at the same time: they mostly wait for the clocks of
// their markets, so that more of them run than there are processors.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(cli.Run(context.Background(), cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args[1:]))
	}
	// Nobody's own settings decide what the tests see.
	dir, err := os.MkdirTemp("", "gantry-cli-test-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("HOME", dir); err != nil {
		panic(err)
	}
	if err := os.Unsetenv("XDG_CONFIG_HOME"); err != nil {
		panic(err)
	}
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(waiting*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// waiting is how many tests run for each processor.
const waiting = 3

// TestMarketByCommand creates a market, a keeper, a provider and a customer, and takes them apart, by commands alone.
func TestMarketByCommand(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	admin := newShell(t, w, w.Authority)
	admin.fails(cli.ExitNetwork, "no market has been initialised", "market", "show")
	w.Mints()
	admin.ok(nil, "market", "init", "--payment-mint", w.PaymentMint.String(), "--stake-mint", w.StakeMint.String(),
		"--set", "keeper_activation_secs=1", "--set", "keeper_exit_secs=1", "--set", "challenge_secs=1", "--set", "unstake_cooldown_secs=6", "--set", "appeal_secs=1",
		"--set", "period_secs=4", "--set", "report_retention_secs=1",
		"--set", "timelock_secs=4", "--set", "allow_simulated=1", "--set", "award_deadline_secs=2")
	admin.fails(cli.ExitRefused, "the market exists already", "market", "init", "--payment-mint", w.PaymentMint.String(), "--stake-mint", w.StakeMint.String())
	admin.ok(nil, "market", "model", "propose", "1", "A100-SXM4-40GB", "--vram", "40960", "--tflops", "312", "--min-stake", "100", "--reference-price", "1.30")
	admin.ok(nil, "market", "propose", "--set", "fee_bps=1300")
	admin.fails(cli.ExitRefused, "the timelock runs until", "market", "model", "apply", "1")
	treasury := w.Give(testmarket.Key(t).PublicKey(), w.PaymentMint, 0)
	admin.ok(nil, "market", "roles", "propose", "--treasury", treasury.String())
	w.Until(w.Now() + 5)
	admin.ok(nil, "market", "apply")
	admin.ok(nil, "market", "roles", "apply")
	admin.ok(nil, "market", "model", "apply", "1")
	admin.ok(nil, "market", "model", "propose", "1", "A100-SXM4-40GB", "--vram", "40960", "--tflops", "312", "--min-stake", "100", "--reference-price", "1.30",
		"--profile", "1024,4,1024,2000,16,500,16")
	admin.fails(cli.ExitRefused, "nothing is proposed", "market", "roles", "apply")
	var mk struct {
		Treasury  string
		Relations []struct {
			Name  string
			Holds bool
		}
		Params struct{ FeeBps int }
		Models []struct {
			Name, ReferencePrice, Profile, PreviousProfile string
			Pending                                        struct{ Profile string }
		}
		Paused []string
	}
	admin.ok(&mk, "market", "show")
	require.Equal(t, 1300, mk.Params.FeeBps)
	require.Equal(t, treasury.String(), mk.Treasury)
	require.NotEmpty(t, mk.Relations)
	require.Equal(t, "1.30", mk.Models[0].ReferencePrice)
	require.Equal(t, "1024,4,1024,1000,16,500,16", mk.Models[0].Profile)
	require.Empty(t, mk.Models[0].PreviousProfile)
	require.Equal(t, "1024,4,1024,2000,16,500,16", mk.Models[0].Pending.Profile)
	require.Contains(t, admin.run(t.Context(), "market", "show").out, "1024,4,1024,1000,16,500,16 → 1024,4,1024,2000,16,500,16")
	admin.fails(cli.ExitUsage, `"rent" cannot be paused`, "market", "pause", "rent")

	key := testmarket.Key(t)
	me := newShell(t, w, key)
	r := me.fails(cli.ExitRefused, "not enough SOL", "market", "pause", "orders")
	require.Contains(t, r.err, "send some SOL to the fee payer "+key.PublicKey().String())
	w.Fund(key.PublicKey())
	me.fails(cli.ExitRefused, "the signer may not do this", "market", "pause", "orders")

	// Credits.
	me.fails(cli.ExitUsage, "not a valid amount", "credits", "add", "12,5")
	me.fails(cli.ExitUsage, "an amount of 0", "credits", "add", "0")
	me.fails(cli.ExitRefused, "deposit refused: 5.00 USDC asked", "credits", "add", "5")
	me.fails(cli.ExitRefused, "withdrawal refused: this wallet has no credits", "credits", "withdraw", "1")
	w.Give(key.PublicKey(), w.PaymentMint, 100_000_000)
	var c struct{ Balance, Reserved, Free, Wallet string }
	me.ok(&c, "credits", "add", "38.20")
	require.Equal(t, "38.20", c.Free)
	me.fails(cli.ExitRefused, "withdrawal refused: 40.00 USDC asked, 38.20 free", "credits", "withdraw", "40")
	me.ok(&c, "credits", "show")
	require.Equal(t, "61.80", c.Wallet)

	// Deploy, before there is anything to deploy on.
	deploy := []string{"deploy", "--gpu", "A100", "--hours", "100", "--max-price", "4", "--", "true"}
	r = me.fails(cli.ExitRefused, "error: order refused: 400.00 USDC needed, 38.20 free", deploy...)
	require.Contains(t, r.err, "add 361.80 with: gantry credits add 361.80      or lower --hours / --max-price")
	me.fails(cli.ExitUsage, `GPU model "B200" is not known`, "deploy", "--gpu", "B200", "--hours", "1", "--", "true")
	me.fails(cli.ExitUsage, "AMD's MI300X is not supported yet", "deploy", "--gpu", "mi300x", "--hours", "1", "--", "true")
	me.fails(cli.ExitUsage, "--inspect measures while the command attends", "deploy", "--gpu", "A100", "--hours", "1", "--inspect", "auto", "--detach", "--", "true")
	me.fails(cli.ExitUsage, "cannot be sorted by", "search", "--sort", "colour")
	me.fails(cli.ExitUsage, "--max-price is 0", "deploy", "--gpu", "A100", "--hours", "1", "--max-price", "0", "--", "true")
	me.fails(cli.ExitUsage, "there is no command to run", "deploy", "--gpu", "A100", "--hours", "1")
	me.fails(cli.ExitUsage, "--port is for containers", "deploy", "--gpu", "A100", "--port", "8888", "--", "true")
	me.fails(cli.ExitUsage, `"x" is not a port`, "deploy", "--gpu", "A100", "--image", "registry.invalid/team/job", "--port", "x")
	me.fails(cli.ExitUsage, "say two numbers of GPUs", "deploy", "--gpu", "A100:4", "--count", "2", "--", "true")
	me.fails(cli.ExitRefused, "order refused: 0 nodes can serve 4×A100-SXM4-40GB now", "deploy", "--gpu", "a100sxm4:4", "--max-price", "1", "--", "true")
	me.fails(cli.ExitUsage, "--volume is for containers", "deploy", "--gpu", "A100", "--hours", "1", "--volume", "data:1GiB", "--", "true")
	for volume, want := range map[string]string{"": "has no size", "data:1GB": "its size", "Data:1GiB": "its name", "data:1GiB:/proc/x": "its path"} {
		me.fails(cli.ExitUsage, want, "deploy", "--gpu", "A100", "--hours", "1", "--image", "registry.invalid/team/job", "--volume", volume)
	}
	me.fails(cli.ExitRefused, "order refused: 0 nodes can serve 1×A100-SXM4-40GB now", "deploy", "--gpu", "A100", "--hours", "1", "--", "true")

	// A provider with a node.
	me.fails(cli.ExitRefused, "is not a provider", "provider", "stake", "100")
	me.ok(nil, "provider", "register")
	me.fails(cli.ExitRefused, "is a provider already", "provider", "register")
	me.fails(cli.ExitRefused, "stake refused: 100 GNT asked", "provider", "stake", "100")
	w.Give(key.PublicKey(), w.StakeMint, 1_500*uint64(market.OneGNT))
	me.ok(nil, "provider", "stake", "150")
	_, node := w.Node(key, testmarket.A100, 1, 1_260_000)
	var nodes []struct{ Address, Price, Model string }
	me.ok(&nodes, "search", "gpu=a100 price<=1.26 region=us-west")
	require.Len(t, nodes, 1)
	me.ok(&nodes, "search", "gpu=a100", "price<1.26")
	require.Empty(t, nodes)
	me.fails(cli.ExitUsage, `GPU model "H900" is not known`, "search", "gpu=H900")
	r = me.fails(cli.ExitRefused, "order refused: 0 nodes can serve", "deploy", "--gpu", "A100", "--hours", "1", "--", "true")
	require.Contains(t, r.err, "pass --allow-simulated")
	r = me.fails(cli.ExitRefused, "too dear", "deploy", "--gpu", "A100", "--hours", "1", "--max-price", "1", "--allow-simulated", "--", "true")
	require.Contains(t, r.err, "the lowest ask is 1.26 USDC per GPU-hour")
	image, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	r = me.fails(cli.ExitRefused, "order refused: 0 nodes can serve", "deploy", "--gpu", "A100", "--hours", "1", "--allow-simulated", "--image", image, "--volume", "data:1GiB", "--", "true")
	require.Contains(t, r.err, "a volume needs nodes that run containers with encrypted volumes; see: gantry search gpu=A100-SXM4-40GB volumes")
	me.ok(&nodes, "search", "gpu=a100 volumes")
	require.Empty(t, nodes)
	me.fails(cli.ExitUsage, "--price is 0", "node", "update", node.Address.String(), "--price", "0")
	me.ok(nil, "node", "update", node.Address.String()[:6], "--price", "1.31")
	var shown struct {
		Price  string `json:"pricePerGpuHour"`
		Status string
	}
	me.ok(&shown, "node", "show", node.Address.String())
	require.Equal(t, "1.31", shown.Price)
	me.fails(cli.ExitRefused, "unstake refused: 60 GNT asked, 50 not needed", "provider", "unstake", "60")

	// An order that nobody awards: there is no keeper.
	r = me.fails(cli.ExitRefused, "", "deploy", "--gpu", "A100", "--minutes", "1", "--max-price", "1.31", "--allow-simulated", "--", "true")
	require.Contains(t, r.err, "was not awarded in time")
	var orders []struct{ Address, Status string }
	me.ok(&orders, "order", "list")
	require.Len(t, orders, 1)
	unserved := solana.MustPublicKeyFromBase58(orders[0].Address)
	require.Contains(t, checkWhy(t, me, unserved, service.WhyExpired).Advice, "gantry order cancel")
	me.ok(nil, "order", "cancel", orders[0].Address)
	me.fails(cli.ExitRefused, "does not exist (any more)", "order", "cancel", orders[0].Address)
	checkWhy(t, me, unserved, service.WhyCancelled)
	me.fails(cli.ExitRefused, "neither an order nor a lease", "why", solana.NewWallet().PublicKey().String())

	// A dry run changes nothing.
	r = me.run(context.Background(), "credits", "withdraw", "all", "--dry-run")
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "nothing was sent")
	me.ok(&c, "credits", "show")
	require.Equal(t, "38.20", c.Free)

	// A keeper comes and goes.
	me.fails(cli.ExitRefused, "bond refused: 10 GNT", "keeper", "register", "--bond", "10", "--addr", "/ip4/127.0.0.1/tcp/4001")
	me.fails(cli.ExitUsage, "not a multiaddress", "keeper", "register", "--bond", "1000", "--addr", "localhost")
	me.ok(nil, "keeper", "register", "--bond", "1000", "--addr", "/ip4/127.0.0.1/tcp/4001")
	w.Until(w.Now() + 2)
	me.ok(nil, "keeper", "activate")
	me.fails(cli.ExitRefused, "is active", "keeper", "activate")
	me.ok(nil, "keeper", "update", "--addr", "/ip4/127.0.0.1/tcp/4002")
	var keepers []struct{ Status, Addr string }
	me.ok(&keepers, "keeper", "list")
	require.Equal(t, "active", keepers[0].Status)
	require.Equal(t, "/ip4/127.0.0.1/tcp/4002", keepers[0].Addr)
	me.fails(cli.ExitRefused, "is active", "keeper", "withdraw")
	me.ok(nil, "keeper", "exit")
	w.Until(w.Now() + 2)
	me.ok(nil, "keeper", "withdraw")

	// Paused, and everything that stays possible.
	admin.ok(nil, "market", "pause", "orders,awards")
	me.fails(cli.ExitRefused, "error: new orders are paused", "deploy", "--gpu", "A100", "--minutes", "1", "--allow-simulated", "--", "true")
	me.ok(nil, "node", "retire", node.Address.String())
	me.fails(cli.ExitRefused, "the waiting time has not passed", "node", "close", node.Address.String())
	me.ok(nil, "provider", "unstake", "50")
	me.fails(cli.ExitRefused, "the account still has nodes", "provider", "close")
	me.ok(nil, "credits", "close")
	admin.ok(nil, "market", "pause", "none")
	me.leaves(w, node.Address.String())
	admin.handsOver(w, me, key.PublicKey().String())
	var none []any
	me.ok(&none, "fault", "list")
	require.Empty(t, none)
	me.fails(cli.ExitRefused, "no report is final", "report", "show", "latest")
	me.fails(cli.ExitRefused, "was never a lease", "audit", node.Address.String())
	me.fails(cli.ExitUsage, "is not the address", "keeper", "show", "abc")
}

// machine plays a provider's agent and a keeper, as far as deploy sees them.
type machine struct {
	w        *testmarket.Testbed
	keeper   solana.PrivateKey
	key      solana.PrivateKey
	provider solana.PrivateKey
	payout   solana.PublicKey
	output   string
	exit     int32
	hold     chan struct{} // the job ends when it is closed

	mu      sync.Mutex
	jobs    map[[32]byte]messages.JobSpec
	seq     uint64
	started map[solana.PublicKey]bool
	groups  map[[32]byte]messages.Group // as the customer said last
	backup  *messages.Backup            // of the last job
	why     string                      // the last order was not awarded
	unseen  int                         // deploy requests for leases that its view of the chain does not show yet
	mute    <-chan struct{}             // a job that was started is answered when it is closed
	// over ends a lease with whose job a customer comes again, which is refused then.
	over func(market.Lease) error
}

func (m *machine) serve(t *testing.T) {
	hub, err := p2p.New(p2p.Options{Key: m.keeper, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = hub.Close() })
	hub.ServeLookup(false)
	instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: m.keeper.PublicKey(), Multiaddr: hub.Addrs()[0]})
	m.w.Do("keeper_update", []solana.PrivateKey{m.keeper}, instruction, err)
	n, err := p2p.New(p2p.Options{Key: m.key, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = n.Close() })
	require.NoError(t, n.Connect(m.w.Ctx, hub.Self()))
	proto := func(id string) p2p.Protocol {
		return p2p.Protocol{ID: id, MaxRequest: 256 << 10, MaxResponse: 256 << 10}
	}
	p2p.Handle(n, proto(messages.Deploy), m.deploy)
	p2p.Handle(n, proto(messages.Status), func(_ context.Context, _ solana.PublicKey, r messages.LeaseRequest) (messages.LeaseAnswer, error) {
		return messages.LeaseAnswer{Version: 1, Status: m.status(r.Lease)}, nil
	})
	p2p.HandleStream(n, proto(messages.Logs), func(ctx context.Context, _ solana.PublicKey, r messages.LogsRequest, send func(messages.LogChunk) error) error {
		if err := send(messages.LogChunk{Data: []byte(m.output)}); err != nil {
			return err
		}
		if r.Follow {
			select {
			case <-m.hold:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return send(messages.LogChunk{Offset: uint64(len(m.output)), End: true})
	})
	p2p.Handle(n, proto(messages.LeaseUse), func(context.Context, solana.PublicKey, messages.LeaseRequest) (messages.UseAnswer, error) {
		at, percent := uint64(time.Now().UnixMilli()), uint32(75)
		gpu := messages.GPUUse{Name: "A100\x1b[2J", Percent: &percent, MemoryMiB: 40_960, Simulated: true}
		return messages.UseAnswer{Version: 1, Use: messages.Use{AtMs: at, CPUMs: 2 * at, MilliCPUs: 8_000, Memory: 1 << 30, MemoryLimit: 4 << 30, GPUs: []messages.GPUUse{gpu}}}, nil
	})
	p2p.Handle(n, proto(messages.ReceiptOffer), m.offer)
	p2p.Handle(n, proto(messages.ReceiptSigned), m.settle)
}

func (m *machine) status(lease [32]byte) messages.LeaseStatus {
	select {
	case <-m.hold:
		return messages.LeaseStatus{Lease: lease, State: messages.LeaseExited, ExitCode: m.exit}
	default:
		return messages.LeaseStatus{Lease: lease, State: messages.LeaseRunning}
	}
}

func (m *machine) deploy(_ context.Context, _ solana.PublicKey, r messages.DeployRequest) (messages.LeaseAnswer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.unseen > 0 {
		m.unseen--
		return messages.LeaseAnswer{Version: 1, Refused: "this node has no such lease", Unknown: true}, nil
	}
	if r.Group != nil {
		if m.groups == nil {
			m.groups = map[[32]byte]messages.Group{}
		}
		m.groups[r.Lease] = *r.Group
	}
	_, known := m.jobs[r.Lease]
	if known && m.over != nil {
		return messages.LeaseAnswer{Version: 1, Refused: messages.LeaseOver}, m.over(m.w.Lease(r.Lease, func(market.Lease) bool { return true }))
	}
	if !known {
		m.jobs[r.Lease], m.backup = r.Job, r.Backup
		if err := m.start(m.w.Lease(r.Lease, func(market.Lease) bool { return true })); err != nil {
			return messages.LeaseAnswer{}, err
		}
		if m.mute != nil {
			<-m.mute
		}
	}
	return messages.LeaseAnswer{Version: 1, Status: m.status(r.Lease)}, nil
}

// refused logs why an order could not be awarded, once for each reason.
func (m *machine) refused(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if why := err.Error(); why != m.why {
		m.why = why
		m.w.T.Log("no award: ", why)
	}
}

// start starts a lease, once.
func (m *machine) start(l market.Lease) error {
	if m.started == nil {
		m.started = map[solana.PublicKey]bool{}
	}
	if m.started[l.Address] {
		return nil
	}
	m.started[l.Address] = true
	instruction, err := ix.LeaseStart(ix.LeaseStartArgs{Lease: l})
	if err == nil {
		_, err = m.w.Try("lease_start", []solana.PrivateKey{m.key}, instruction)
	}
	return err
}

func (m *machine) offer(_ context.Context, _ solana.PublicKey, r messages.LeaseRequest) (messages.Receipt, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.w.View.Lease(r.Lease)
	if !ok {
		return messages.Receipt{Refused: "no such lease"}, nil
	}
	secs := uint64(l.BillableSecs(m.w.Now()))
	if l.State() == market.LeaseRunning && secs > 0 {
		secs--
	}
	m.seq++
	sig, err := market.LeaseReceipt(l, m.seq, secs).Sign(m.key)
	return messages.Receipt{Version: 1, Lease: l.Address, StartedAt: l.StartedAt, Sequence: m.seq, Seconds: secs, NodeSignature: sig}, err
}

func (m *machine) settle(_ context.Context, _ solana.PublicKey, s messages.SignedReceipt) (messages.ReceiptAnswer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, ok := m.w.View.Lease(s.Receipt.Lease)
	if !ok {
		return messages.ReceiptAnswer{Refused: "no such lease"}, nil
	}
	ixs, err := ix.LeaseSettleReceipt(ix.LeaseSettleReceiptArgs{
		Lease: l, Payout: m.payout, Receipt: market.LeaseReceipt(l, s.Receipt.Sequence, s.Receipt.Seconds),
		NodeSignature: s.Receipt.NodeSignature, CustomerSignature: s.CustomerSignature,
	})
	if err == nil {
		_, err = m.w.Try("lease_settle_receipt", []solana.PrivateKey{m.key}, ixs...)
	}
	if err != nil {
		return messages.ReceiptAnswer{Refused: err.Error()}, nil
	}
	return messages.ReceiptAnswer{Version: 1}, nil
}

// award gives the customer's next order to the node.
func (m *machine) award(customer solana.PublicKey, n market.Node) market.Lease {
	var o market.Order
	m.w.Wait("order", func(v *view.View) bool {
		for _, x := range v.OrdersOf(customer) {
			if x.State() == market.OrderOpen {
				o = x
				return true
			}
		}
		return false
	})
	n, _ = m.w.View.Node(n.Address)
	return m.w.Award(m.keeper, o, n)
}

// TestDeployAndAudit runs a job to its end, then a lease that is stopped, and audits both after they are closed.
func TestDeployAndAudit(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{})
	params := testmarket.FastParams()
	params.StartDeadlineSecs, params.AwardDeadlineSecs = 20, 20
	w.InitMarket(params)
	m := &machine{w: w, keeper: w.Keeper(), output: "epoch 1\nepoch 2\n", unseen: 1, hold: make(chan struct{}), jobs: map[[32]byte]messages.JobSpec{}}
	m.provider = w.Provider(100 * market.OneGNT)
	m.payout = market.TokenAddress(m.provider.PublicKey(), w.PaymentMint)
	var node market.Node
	m.key, node = w.Node(m.provider, testmarket.A100, 1, 3_600_000)
	m.serve(t)
	customer := w.Customer(50*market.OneUSDC, 40*market.OneUSDC)
	me := newShell(t, w, customer)

	// A machine would refuse it after the award.
	me.fails(cli.ExitUsage, `--env: the environment variable "my var" has a name that machines do not set`,
		"deploy", "--gpu", "A100", "--minutes", "1", "--max-price", "4", "--allow-simulated", "-e", "my var=1", "--", "sleep", "5")
	require.Empty(t, w.View.Orders())

	done := make(chan result, 1)
	go func() {
		done <- me.run(context.Background(), "--json", "deploy", "--gpu", "A100", "--duration", "10m", "--max-price", "4", "--job", "--allow-simulated",
			"--receipt-every", "1s", "--env", "SEED=7,8", "--", "sh", "-c", "true")
	}()
	lease := m.award(customer.PublicKey(), node)
	w.Lease(lease.Address, func(l market.Lease) bool { return l.PaidSecs > 0 }) // a receipt while it runs
	m.mu.Lock()
	require.Equal(t, map[string]string{"SEED": "7,8"}, m.jobs[lease.Address].Env)
	m.mu.Unlock()
	close(m.hold)
	l, _ := w.View.Lease(lease.Address)
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: m.key.PublicKey(), Lease: l})
	w.Do("lease_end", []solana.PrivateKey{m.key}, instruction, err)
	r := <-done
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.err, "epoch 2")
	require.Contains(t, r.err, "✓ escrow")
	var doc struct {
		Reserved string
		Leases   []struct {
			Address, Status, EndReason string
			PaidSeconds, UsedSeconds   int
			ExitCode                   *int
		}
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &doc), r.out)
	require.Equal(t, "ended", doc.Leases[0].Status)
	require.Equal(t, "job done", doc.Leases[0].EndReason)
	require.Equal(t, doc.Leases[0].UsedSeconds, doc.Leases[0].PaidSeconds)
	require.Zero(t, *doc.Leases[0].ExitCode)

	me.fails(cli.ExitUsage, `"6" is not a number of stars`, "rate", lease.Address.String(), "6")
	me.ok(nil, "rate", lease.Address.String()[:5], "5")
	me.fails(cli.ExitRefused, "the rating must be from 1 to 5, once", "rate", lease.Address.String(), "4")
	me.closes(w, lease.Address)
	checkAudit(t, me, lease.Address, "order award start paid end paid rated close sum")
	checkWhy(t, me, lease.Address, service.WhyJobDone)
	var why struct{ ExitCode *int }
	me.ok(&why, "why", lease.Address.String())
	require.Zero(t, *why.ExitCode)

	// A lease without an end of its own, detached, extended and stopped.
	m.hold = make(chan struct{})
	go func() {
		done <- me.run(context.Background(), "deploy", "--gpu", "a100", "--minutes", "10", "--detach", "--allow-simulated", "--max-price", "4", "--", "sleep", "600")
	}()
	lease = m.award(customer.PublicKey(), node)
	r = <-done
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "running")
	stranger := newShell(t, w, m.provider)
	stranger.fails(cli.ExitRefused, "not to your wallet", "stop", lease.Address.String())
	me.fails(cli.ExitRefused, "extension refused", "extend", lease.Address.String(), "--hours", "1000")
	me.ok(nil, "extend", lease.Address.String(), "--minutes", "1")
	r = me.run(context.Background(), "logs", lease.Address.String())
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Equal(t, m.output, r.out)
	screentest.Screens(t, "logs", func(at screen.Terminal) {
		code := cli.Run(t.Context(), cli.Streams{Out: at.Out, Err: io.Discard, Screen: true, OnOut: at}, append(slices.Clone(me.args), "logs", lease.Address.String()))
		assert.Equal(t, cli.ExitDone, code)
	})
	w.Until(w.Now() + 2)
	var leases []struct{ Address, Status string }
	me.ok(&leases, "leases")
	require.Len(t, leases, 1)
	checkAudit(t, me, lease.Address, "order award start extend sum") // while it runs
	r = me.run(context.Background(), "stop", lease.Address.String())
	require.Equal(t, cli.ExitDone, r.code, r.err)
	require.Contains(t, r.out, "are free again")
	me.fails(cli.ExitRefused, "is over already (by customer)", "stop", lease.Address.String())
	me.closes(w, lease.Address)
	checkAudit(t, me, lease.Address, "order award start extend end paid close sum")
	checkWhy(t, me, lease.Address, service.WhyStopped)
	var c struct{ Reserved string }
	me.ok(&c, "credits", "show")
	require.Equal(t, "0.00", c.Reserved)
	me.ok(nil, "credits", "withdraw", "all")

	// An interrupted deploy says what is true.
	me.ok(nil, "credits", "add", "5")
	ctx, cancel := context.WithCancel(context.Background())
	placed := &watched{text: " ✓ escrow ", found: cancel}
	code := cli.Run(ctx, cli.Streams{Out: io.Discard, Err: placed}, append(slices.Clone(me.args),
		"deploy", "--gpu", "A100", "--minutes", "10", "--allow-simulated", "--max-price", "4", "--", "true"))
	require.Equal(t, cli.ExitInterrupted, code, placed)
	require.Contains(t, placed.String(), "take it back with: gantry order cancel")
}

// checkAudit audits a lease and compares the kinds of its steps, repeated ones once.
func checkAudit(t *testing.T, me shell, lease solana.PublicKey, want string) {
	t.Helper()
	var a struct {
		OK    bool
		Steps []struct {
			Name, Text, Explorer string
			Problems             []string
		}
	}
	me.ok(&a, "audit", lease.String())
	require.True(t, a.OK)
	var names []string
	for _, st := range a.Steps {
		require.Empty(t, st.Problems, st.Text)
		if st.Name != "verified" && (len(names) == 0 || names[len(names)-1] != st.Name) {
			names = append(names, st.Name)
		}
	}
	require.Equal(t, want, strings.Join(names, " "))
}

func TestNoProgram(t *testing.T) {
	w := testmarket.New(t, testmarket.Options{NoProgram: true})
	me := newShell(t, w, w.Authority)
	r := me.fails(cli.ExitNetwork, "is not deployed on this cluster", "search")
	require.Contains(t, r.err, "check --url")
	me.fails(cli.ExitNetwork, "is not deployed on this cluster", "credits", "add", "1")
}
