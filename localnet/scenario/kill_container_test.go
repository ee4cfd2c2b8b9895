//go:build e2e

package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/s3test"
	"github.com/gantry-market/gantry/internal/testkit/long"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// containerKillsVariable is how many kills of containers and what is around them TestKilledContainersLoseNothing makes.
const containerKillsVariable = "GANTRY_CONTAINER_KILLS"

const (
	diaryKeepers   = 3
	diaryNodes     = 5
	diaryCustomers = 3 // and one more, whose gateway it is
	diaryVolumeMiB = 16
	// imagePadding makes a pull last long enough to be hit.
	imagePadding = 8 << 20
	// killsThatMove is from how many kills on a volume must have moved: a run in which none did shows nothing about those.
	killsThatMove = 100
	// longestAway is how long a machine, a registry or a bucket may be away.
	longestAway = 15 * time.Second
	forever     = time.Hour
)

// containerRun is a market of containers whose processes are killed: those of machines, of the customers, and what they use.
type containerRun struct {
	*killRun
	*diaries

	supply   uint64 // of GNT, before any was burned
	gateway  seed.Wallet
	pages    *http.Client
	registry imagetest.Registry
	program  imagetest.Entry // the job
	bucket   *s3test.Server
	toBucket *fault.Relay  // can be cut
	storing  chan struct{} // gets an element when a machine writes into the bucket

	waited int // how often a rare moment was waited for

	acts    sync.Mutex
	hits    []hit
	lost    string                // a machine that never came back
	visited map[string]*pagesSeen // by lease
}

// Agents, supervisors, sandboxes, whole machines, the gateway, the registry, the bucket and commands of customers are killed
// while containers with volumes are pulled, started, run, kept and moved. Nothing is billed in which no job ran, nothing is
// left on a machine, and no volume loses what a snapshot has.
// It holds finding A 10.
func TestKilledContainersLoseNothing(t *testing.T) {
	needsContainers(t)
	k := newContainerRun(t)
	t.Logf("seed %d: repeat with %s=%d %s=%d (moments depend on the machine as well)", k.seed, killSeedVariable, k.seed, containerKillsVariable, k.all)
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	watching, watchCtx := errgroup.WithContext(ctx)
	watching.Go(func() error { return k.view.Run(watchCtx, view.Source{Client: k.n.Chain}) })
	watching.Go(func() error { return k.look(watchCtx) })
	watching.Go(func() error { return k.diaries.follow(watchCtx, k.n.Dir()) })
	watching.Go(func() error { return k.provide(watchCtx) })
	watching.Go(func() error { return k.visitAll(watchCtx) })
	require.NoError(t, k.view.Ready(ctx))

	working, workCtx := errgroup.WithContext(ctx)
	for i, c := range k.n.Keys.Customers[:diaryCustomers] {
		working.Go(func() error { return k.rent(workCtx, c, rand.New(rand.NewPCG(k.seed, uint64(i+1)))) })
	}
	working.Go(func() error {
		defer close(k.stop)
		return k.hitAll(workCtx, rand.New(rand.NewPCG(k.seed, 0)))
	})
	err := working.Wait()
	k.tell(err != nil)
	require.NoError(t, err)
	k.settled(ctx)
	took := time.Since(began)
	k.nothingLeft(ctx)
	cancel()
	_ = watching.Wait() // it was cancelled; what it found is in k
	k.judgeContainers(took)
	k.tell(t.Failed())
}

// needsContainers skips where it was not asked for, or no container with a volume and a network can run.
func needsContainers(t *testing.T) {
	t.Helper()
	if os.Getenv(containerKillsVariable) == "" { // make kill-test sets it
		long.Test(t, "20 kills of containers and what is around them")
	}
	needsVolumes(t)
	if err := network.TryNamespaces(t.Context()); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
}

func newContainerRun(t *testing.T) *containerRun {
	k := &containerRun{diaries: newDiaries(), storing: make(chan struct{}, 1), visited: map[string]*pagesSeen{}}
	k.bucket = s3test.Start(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut && !strings.HasSuffix(r.URL.Path, "/check") {
				select {
				case k.storing <- struct{}{}:
				default:
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	var err error
	k.toBucket, err = fault.StartRelay(t.Context(), strings.TrimPrefix(k.bucket.URL, "http://"))
	require.NoError(t, err)
	t.Cleanup(k.toBucket.Close)

	params := seed.Params()
	params.AwardDeadlineSecs, params.StartDeadlineSecs = 60, 120
	params.PeriodSecs = uint32(killPeriod / time.Second)
	params.ReportRetentionSecs = 6*params.PeriodSecs + params.AppealSecs
	params.UnstakeCooldownSecs = market.LeastCooldown(&params)
	params.RatingSecs = 4
	nodes := make([]network.NodeSpec, diaryNodes)
	for i := range nodes { // a lease moves only where it costs no more
		nodes[i] = network.NodeSpec{
			Name: fmt.Sprintf("node-%d", i+1), Provider: i, GPU: "A100", Count: 1, Region: "us-west-2", Price: market.PricePerHour(1_260_000),
			Namespaces: true, Service: true,
		}
	}
	n, err := network.Start(t.Context(), network.Config{
		Engine: kind(t), Dir: stateDir(t), Keepers: diaryKeepers, Customers: diaryCustomers + 1, Nodes: nodes, Params: &params, Log: quiet(t),
		Registry: true, Reach: []string{k.toBucket.Addr()},
		KeeperFlags: []string{"--outage-votes", "--check-interval", killCheckEvery.String(), "--check-timeout", killCheckEvery.String(), "--simulate-unmeasured", "--evidence-every", "0"},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	k.killRun = &killRun{
		t: t, n: n, seed: setting(t, killSeedVariable, rand.Uint64()), all: int(setting(t, containerKillsVariable, 20)),
		view: view.New(view.Options{}), stop: make(chan struct{}), running: map[string]*command{}, kills: map[string]int{},
		moments: map[string]map[string]int{}, aimed: map[string]bool{}, periods: map[uint64]bool{}, faults: faultsSeen(),
	}
	for _, c := range n.Keys.Customers {
		ok(t, n, c, "credits", "add", killDeposit.String())
	}
	for _, p := range n.Keys.Providers { // being away costs stake
		ok(t, n, p, "provider", "stake", "600")
	}
	before, err := invariants.Take(t.Context(), n.Chain, n.Mints())
	require.NoError(t, err)
	k.supply = before.Supply[n.Mints().Stake]
	k.credentials()
	k.startGateway()
	k.registry = imagetest.Registry{Host: n.Registry()}
	raw, err := os.ReadFile(imagetest.Program(t, "github.com/gantry-market/gantry/localnet/scenario/testdata/diary"))
	require.NoError(t, err)
	k.program = imagetest.File("bin/diary", string(raw))
	return k
}

// credentials gives customers what opens the bucket.
func (k *containerRun) credentials() {
	for _, c := range k.n.Keys.Customers[:diaryCustomers] {
		require.NoError(k.t, k.n.KeepBucketKeys(c, s3test.AccessKey, s3test.SecretKey))
	}
}

// startGateway starts the last customer's gateway, at ports that it has again when it was killed.
func (k *containerRun) startGateway() {
	k.gateway = k.n.Keys.Customers[diaryCustomers]
	at := freeAddr(k.t)
	cert := startGateway(k.t, k.n, k.gateway, "--listen", "/ip4/127.0.0.1/tcp/"+portOf(freeAddr(k.t)), "--tls", at, "--ssh", "off")
	believed, err := os.ReadFile(cert)
	require.NoError(k.t, err)
	k.pages = (&runningGateway{t: k.t, tls: at}).client(believed)
	k.pages.Timeout = 5 * time.Second
}

// image is one that no machine has yet.
func (k *containerRun) image(ctx context.Context, name string, rng *rand.Rand) (string, error) {
	padding := make([]byte, imagePadding)
	for i := range padding {
		padding[i] = byte(rng.Uint32())
	}
	img := imagetest.Image(k.t, "amd64", v1.Config{Entrypoint: []string{"/bin/diary"}},
		imagetest.Layer(k.t, k.program), imagetest.Layer(k.t, imagetest.File("padding", string(padding))))
	return pushUntil(ctx, k.registry, strings.ToLower(name), img)
}

// provide does what an owner of machines does: what a fault has taken of a machine's stake comes out of the rest.
func (k *containerRun) provide(ctx context.Context) error {
	for {
		for _, m := range k.n.Nodes {
			node, ok := k.view.Node(m.Address)
			if !ok || node.MissingStake() == 0 {
				continue
			}
			if err := k.n.ActivateNode(ctx, m); err != nil && ctx.Err() == nil {
				k.t.Logf("%s: %v", m.Name, err)
			}
		}
		if err := pause(ctx, 2*time.Second); err != nil {
			return err
		}
	}
}

// settled waits until every order and lease is over and paid.
func (k *containerRun) settled(ctx context.Context) {
	rest, done := context.WithTimeout(ctx, killRest)
	defer done()
	err := k.view.WaitFor(rest, func(v *view.View) bool { return len(v.Orders()) == 0 && len(v.Leases()) == 0 })
	for _, l := range k.view.Leases() {
		k.t.Logf("left: lease %s on %s is %s, reason %s", l.Address, k.agentOf(l.Node), l.State(), l.Reason())
	}
	for _, o := range k.view.Orders() {
		k.t.Logf("left: order %s", o.Address)
	}
	k.tell(err != nil)
	require.NoError(k.t, err, "%d orders and %d leases are left", len(k.view.Orders()), len(k.view.Leases()))
}
