package demo

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"golang.org/x/sync/errgroup"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/s3server"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/seed"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// snapshotWait bounds the wait for a volume's first snapshot, ten seconds after the start.
const snapshotWait = time.Minute

// countScript counts seconds in its volume and goes on where the volume's count has ended.
const countScript = `n=$(cat /data/n 2>/dev/null || echo 0); echo "goes on after $n"; while :; do n=$((n+1)); echo $n >/data/new; mv /data/new /data/n; sleep 1; done`

// countLine is what it says at its start.
var countLine = regexp.MustCompile(`goes on after (\d+)`)

// movedLease is a container with a volume whose machine is switched off: keepers vote that it is gone, the lease moves, and
// the job continues from its last snapshot. visited is closed when the other containers are gone; unneeded is called when this one
// is, too.
func (d *demo) movedLease(ctx context.Context, image string, ordered func(), visited <-chan struct{}, unneeded func()) error {
	customer := d.net.Keys.Customers[1]
	if none := runtime.CheckVolumes(); none != nil {
		d.out.begin("no container moves", fmt.Sprintf("no volume: %v", none))
		return nil
	}
	if err := d.net.KeepBucketKeys(customer, s3server.AccessKey, s3server.SecretKey); err != nil {
		return err
	}
	step := d.out.begin(customer.Name+" deploys a container that may move", "a volume, snapshots in a bucket of its own")
	group, groupCtx := errgroup.WithContext(ctx)
	var said network.Output
	group.Go(func() (err error) {
		// The client stays, for it has the volume's key and the bucket's credentials.
		said, err = d.net.Gantry(groupCtx, customer, "deploy", "--gpu", "A100", "--count", "1", "--region", "af-", "--max-price", "1.30", "--duration", "20m",
			"--allow-simulated", "--migrate", "--image", image, "--volume", fmt.Sprintf("data:%dMiB", volumeMiB),
			"--backup", "s3://"+s3server.Bucket+"/count", "--backup-endpoint", d.bucket.URL, "--backup-every", "1m", "--", "sh", "-c", countScript)
		return err
	})
	group.Go(func() error { return d.move(groupCtx, step, customer, ordered, visited, unneeded) })
	if err := group.Wait(); err != nil {
		return err
	}
	d.expect.that(strings.Contains(said.Stderr, "goes on"), "the client says that its lease goes on elsewhere", "it said %q", said.Stderr)
	return nil
}

// move follows the lease from its start to the close of the lease that goes on with it.
func (d *demo) move(ctx context.Context, step int, customer seed.Wallet, ordered func(), visited <-chan struct{}, unneeded func()) (err error) {
	story := d.story.track()
	defer func() { story.end(ctx, err) }()
	story.begin(volumeSaved)
	first, node, err := d.movable(ctx, containerWait, customer, 0)
	if err != nil {
		return err
	}
	ordered()
	d.audits.add(audited{command: []string{"audit", first.Address.String()}, customer: customer, what: "the lease that moved"})
	if err := d.describeAward(ctx, step, first, node); err != nil {
		return err
	}
	if err := d.undercutElsewhere(ctx, step, node); err != nil {
		return err
	}
	first, err = d.leaseWhere(ctx, snapshotWait, first.Address, "to have a snapshot on chain", func(l market.Lease, exists bool) bool {
		return !exists || l.CheckpointHash != [32]byte{}
	})
	if err != nil {
		return err
	}
	d.out.note(step, fmt.Sprintf("a first encrypted snapshot of the volume is in the bucket, its hash %x… on chain", first.CheckpointHash[:4]))
	story.end(ctx, nil)
	if err := passed(ctx, d.reopened); err != nil { // no lease moves in a paused market
		return err
	}
	if err := d.roomElsewhere(ctx, node, visited); err != nil {
		return err
	}
	story.begin(machineOff)
	if err := d.net.Fail(ctx, node.Name); err != nil {
		return err
	}
	gone := time.Now()
	moved := d.out.begin(node.Name+" is switched off", "with all that runs there")
	failed, second := first, market.Lease{}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return d.overAndRated(groupCtx, moved, customer, &failed, 2) })
	group.Go(func() (err error) {
		second, err = d.goesOn(groupCtx, moved, customer, first, gone)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	if err := passed(ctx, visited); err != nil {
		return err
	}
	unneeded()
	story.begin(outageSlashed)
	fault, err := d.waitFault(ctx, node.Address, first.Address)
	if err != nil {
		return err
	}
	d.out.note(moved, d.whoSawItGone(fault))
	if _, err := d.slashed(ctx, moved, fault); err != nil {
		return err
	}
	if err := d.atMostAnHour(fault, failed); err != nil {
		return err
	}
	for _, l := range []market.Lease{failed, second} {
		if err := d.closed(ctx, moved, l); err != nil {
			return err
		}
	}
	// The second machine clears its job away; the first's control groups go with the network.
	return d.groupsAreGone(ctx, second.Address)
}

// undercutElsewhere lowers the price of the machine to which a lease on the other one can move, for it never moves to a dearer
// one. It waits for the other containers' orders: an order gets no machine whose price has changed since it came.
func (d *demo) undercutElsewhere(ctx context.Context, step int, node *network.Machine) error {
	if node.Name == sandboxes {
		return nil // the other one is cheaper
	}
	if err := passed(ctx, d.contained); err != nil {
		return err
	}
	rival, err := d.net.Machine(sandboxes)
	if err != nil {
		return err
	}
	if err := d.net.PriceNode(ctx, rival, undercut); err != nil {
		return err
	}
	if err := d.until(ctx, 10*time.Second, rival.Name+"'s new price", func(v *view.View) bool {
		n, ok := v.Node(rival.Address)
		return ok && n.Price == uint64(undercut)
	}); err != nil {
		return err
	}
	d.out.note(step, fmt.Sprintf("%s lowers its price to %s $/GPU-h: leases never move to a dearer machine", rival.Name, undercut))
	return nil
}

// roomElsewhere waits until the lease can move: until the hostile container has left the other machine, or both others have left
// this one.
func (d *demo) roomElsewhere(ctx context.Context, node *network.Machine, visited <-chan struct{}) error {
	if node.Name == sandboxes {
		return passed(ctx, visited)
	}
	other, err := d.net.Machine(sandboxes)
	if err != nil {
		return err
	}
	return d.until(ctx, containerWait, "a free GPU of "+other.Name, func(v *view.View) bool {
		n, ok := v.Node(other.Address)
		return ok && n.FreeGPUs() > 0
	})
}

// goesOn follows the lease that goes on elsewhere with one that has failed, and stops it.
func (d *demo) goesOn(ctx context.Context, step int, customer seed.Wallet, first market.Lease, gone time.Time) (market.Lease, error) {
	second, node, err := d.movable(ctx, containerWait, customer, 1)
	if err != nil {
		return second, err
	}
	d.audits.add(audited{command: []string{"audit", second.Address.String()}, customer: customer, what: "the lease that it moved to"})
	d.expect.that(node.Address != first.Node, "the lease goes on elsewhere")
	equal(d.expect, second.CheckpointHash, first.CheckpointHash, "the lease goes on from the snapshot on chain")
	d.out.note(step, fmt.Sprintf("its lease runs on %s %.0f s later", node.Name, time.Since(gone).Seconds()))
	from, err := d.wentOn(ctx, customer, second.Address.String())
	if err != nil {
		return second, err
	}
	d.expect.that(from > 0, "the job goes on from its snapshot", "it went on after %d s", from)
	d.out.note(step, fmt.Sprintf("gantry logs %s…: the job goes on after second %d of its count", second.Address.String()[:shortKey], from))
	// A lease that paid nothing is closed at once, and cannot be rated.
	if _, err := d.leaseWhere(ctx, containerWait, second.Address, "to be paid for a second", func(l market.Lease, exists bool) bool { return !exists || l.PaidSecs > 0 }); err != nil {
		return second, err
	}
	if _, err := d.gantry(ctx, customer, "stop", second.Address.String()); err != nil {
		return second, err
	}
	return second, d.overAndRated(ctx, step, customer, &second, 5)
}

// overAndRated waits until a lease is over and paid, and rates it.
func (d *demo) overAndRated(ctx context.Context, step int, customer seed.Wallet, lease *market.Lease, stars int) error {
	over, err := d.leaseWhere(ctx, containerWait, lease.Address, "to be over and paid", func(l market.Lease, exists bool) bool {
		return !exists || l.State() == market.LeaseEnded && l.PaidSecs > 0
	})
	if err != nil {
		return err
	}
	*lease = over
	return d.rate(ctx, step, customer, over, stars)
}

// whoSawItGone says by whose word a machine is gone: in short periods a report is as quick as votes.
func (d *demo) whoSawItGone(fault market.Fault) string {
	if fault.Kind == market.FaultOutage {
		return "more than two thirds of the keepers voted that it does not answer"
	}
	return fmt.Sprintf("report %d: it was offline during its lease, %s", fault.Period, d.voters(fault.Period))
}

// movable waits until the customer's lease in Africa runs that continues others so many times.
func (d *demo) movable(ctx context.Context, timeout time.Duration, customer seed.Wallet, continues uint8) (found market.Lease, node *network.Machine, err error) {
	machines := map[solana.PublicKey]*network.Machine{}
	for _, name := range []string{sandboxes, otherSandbox} {
		m, err := d.net.Machine(name)
		if err != nil {
			return found, nil, err
		}
		machines[m.Address] = m
	}
	err = d.until(ctx, timeout, "a lease that may move to run", func(v *view.View) bool {
		for address, m := range machines {
			for _, l := range v.LeasesOfNode(address) {
				if l.Customer == customer.Address() && l.State() == market.LeaseRunning && l.Continues == continues {
					found, node = l, m
					return true
				}
			}
		}
		return false
	})
	return found, node, err
}

// wentOn waits until the job says after which count it goes on.
func (d *demo) wentOn(ctx context.Context, customer seed.Wallet, lease string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, containerWait)
	defer cancel()
	for {
		out, err := d.net.GantryText(ctx, customer, "logs", lease)
		if err != nil {
			return 0, err
		}
		if line := countLine.FindStringSubmatch(out.Stdout); line != nil {
			return strconv.Atoi(line[1])
		}
		if wait.For(ctx, 200*time.Millisecond) != nil {
			return 0, fmt.Errorf("output of the job: %w, at last: %w", ctx.Err(), out.Err())
		}
	}
}
