//go:build e2e

package scenario

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/localnet/invariants"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

func faultsSeen() map[solana.PublicKey]bool { return map[solana.PublicKey]bool{} }

// containerResult is what the table shows.
type containerResult struct {
	orders, leases, moved, bare, refunded int
	ends                                  map[string]int
	billed                                uint32
	ran, most, kept                       time.Duration // kept: paid for after the job was over, because the customer kept the lease
	snapshots, restored, entries, pages   int
}

// judgeContainers checks everything that must hold after the kills.
func (k *containerRun) judgeContainers(took time.Duration) {
	after, err := invariants.Take(k.t.Context(), k.n.Chain, k.n.Mints())
	require.NoError(k.t, err)
	assert.Empty(k.t, invariants.NewChecker().Check(after), "sums at the end")
	history, err := invariants.ReadHistory(k.t.Context(), k.n.Chain, nil, 0)
	require.NoError(k.t, err)
	assert.Empty(k.t, history.Flows().Conservation(after, k.supply-after.Supply[k.n.Mints().Stake], 0), "sums of everything that was moved")
	orders, leases := ledger(history)
	r := containerResult{ends: map[string]int{}}
	from := map[string]*bindings.LeaseMigrated{} // by the lease that goes on
	for _, t := range history.Transactions {
		for _, event := range t.Events {
			if e, ok := event.(*bindings.LeaseMigrated); ok {
				from[e.To.String()] = e
				if leases[e.To] == nil {
					leases[e.To] = &billed{node: e.Node}
				}
				leases[e.To].node = e.Node
			}
		}
	}
	r.orders, r.moved = len(orders), len(from)
	k.judgeMoney(orders, leases, from, after, &r)
	k.judgeContainerBills(leases, &r)
	k.judgeVolumes(from, &r)
	if k.all >= killsThatMove {
		assert.Positive(k.t, r.restored, "no lease went on from a snapshot: the run says nothing about volumes that move")
	}
	k.judgeAudits(leases)
	k.judgePages(&r)
	k.printContainers(r, took)
}

// judgeMoney: an order is paid for what its leases are, and credits are short of what was billed.
func (k *containerRun) judgeMoney(orders map[solana.PublicKey]*placed, leases map[solana.PublicKey]*billed, from map[string]*bindings.LeaseMigrated, after invariants.Snapshot, r *containerResult) {
	owner, placedBy := map[solana.PublicKey]solana.PublicKey{}, map[solana.PublicKey]int{}
	for address, o := range orders {
		placedBy[o.customer]++
		for _, e := range from {
			if e.Order == address {
				o.leases[e.To] = true
			}
		}
		started, first := 0, 0
		for lease := range o.leases {
			owner[lease] = o.customer
			if l := leases[lease]; l.starts > 0 {
				started++
				if from[lease.String()] == nil {
					first++
				}
			}
		}
		assert.LessOrEqual(k.t, first, 1, "order %s has several leases that continue none", address)
		if started == 0 {
			r.refunded++
		}
	}
	paid := map[solana.PublicKey]uint64{}
	for address, l := range leases {
		assert.LessOrEqual(k.t, l.starts, 1, "lease %s was started twice", address)
		if l.starts == 0 {
			assert.True(k.t, l.aborted, "lease %s was neither started nor given back", address)
			continue
		}
		r.leases++
		r.ends[l.reason.String()]++
		if assert.NotNil(k.t, l.closed, "lease %s was not closed", address) {
			paid[owner[address]] += l.closed.Paid
		}
		k.judgeEnd(address.String(), l)
	}
	purchases := map[solana.PublicKey]int{}
	for _, p := range k.purchases {
		purchases[p.customer.Address()]++
	}
	for _, c := range k.n.Keys.Customers[:diaryCustomers] {
		key := c.Address()
		assert.LessOrEqual(k.t, placedBy[key], purchases[key], "%s placed more orders than it bought", c.Name)
		for _, credits := range after.Credits {
			if credits.Customer == key {
				assert.Zero(k.t, credits.Reserved, c.Name)
				assert.EqualValues(k.t, uint64(killDeposit), credits.Balance+paid[key], "%s: what is left and what was billed is the deposit", c.Name)
			}
		}
	}
}

// judgeEnd: a lease is over for a cause that is true.
func (k *containerRun) judgeEnd(lease string, l *billed) {
	d, _ := k.of(lease)
	switch l.reason {
	case market.EndedByCustomer, market.EndedUnfunded:
	case market.EndedJobDone:
		assert.True(k.t, d.over || d.exit != "" || k.hitOn(lease, d.node), "lease %s on %s: its job is said to be done, and was neither over nor killed", lease, k.agentOf(l.node))
	case market.EndedByProvider: // a lease that its customer would keep: its machine has lost the job
		assert.True(k.t, !k.stays(d.purchase) && k.hitOn(lease, k.agentOf(l.node)), "lease %s on %s: its machine has left it, and was not hit", lease, k.agentOf(l.node))
	case market.EndedFailed:
		assert.True(k.t, k.machineHit(k.agentOf(l.node)), "lease %s: its machine %s is said to have failed, and was never killed", lease, k.agentOf(l.node))
	default:
		assert.Fail(k.t, "an end without a cause", "lease %s ended with %s", lease, l.reason)
	}
}

// hitOn reports whether a lease's supervisor, sandbox or machine was killed.
func (k *containerRun) hitOn(lease, node string) bool {
	return slices.ContainsFunc(k.hits, func(h hit) bool {
		return h.lease == lease && (h.what == hitSupervisor || h.what == hitSandbox) || h.node == node && h.what == hitMachine
	})
}

func (k *containerRun) machineHit(node string) bool {
	return slices.ContainsFunc(k.hits, func(h hit) bool { return h.node == node && (h.what == hitMachine || h.what == hitAgent) })
}

// judgeContainerBills: a lease that ends with its job is billed until the job was last alive, and one without a job is not billed.
func (k *containerRun) judgeContainerBills(leases map[solana.PublicKey]*billed, r *containerResult) {
	for address, l := range leases {
		if l.closed == nil {
			continue
		}
		r.billed += l.closed.PaidSecs
		bill := time.Duration(l.closed.PaidSecs) * time.Second
		d, _ := k.of(address.String())
		if d.began < 0 && d.exit != "" && !k.stays(d.purchase) { // killed before it said so, and kept by its customer all the same
			r.kept += bill
			continue
		}
		if d.began < 0 {
			r.bare++
			assert.LessOrEqual(k.t, bill, billTolerance, "lease %s on %s was billed %s and ran no job (%s)", address, k.agentOf(l.node), bill, d.exit)
			continue
		}
		until, _ := d.last()
		r.ran += until.Sub(d.begin)
		if !k.stays(d.purchase) { // its customer keeps it until it is stopped
			r.kept += max(0, bill-until.Sub(l.started))
			continue
		}
		// A job's end is when its last snapshot is in the bucket, or was given up.
		most := until.Sub(l.started) + k.bucketAwayAfter(until)
		r.most = max(r.most, bill-most)
		assert.LessOrEqual(k.t, bill, most+billTolerance, "lease %s on %s, which ended %s, was billed %s; its job began %s after it and was last alive after %s; %s",
			address, k.agentOf(l.node), l.reason, bill, d.begin.Sub(l.started), until.Sub(l.started), d.exit)
	}
}

// bucketAwayAfter is how long the bucket was away from a time on, as long as it was away without a break.
func (k *containerRun) bucketAwayAfter(from time.Time) time.Duration {
	until := from
	for _, h := range k.hits { // in the order of time
		if h.what == hitBucket && !h.at.After(until.Add(billTolerance)) && h.at.Add(h.away).After(until) {
			until = h.at.Add(h.away)
		}
	}
	return until.Sub(from)
}

// stays reports whether the customer's command stays until the job has ended.
func (k *containerRun) stays(name string) bool {
	return slices.ContainsFunc(k.purchases, func(p *purchase) bool { return p.name == name && p.stays })
}

// judgeVolumes: every snapshot that a machine says it has made can be read, and has what the job had said was on the disk
// before it was begun. A lease that was moved goes on from the one that is on chain.
func (k *containerRun) judgeVolumes(from map[string]*bindings.LeaseMigrated, r *containerResult) {
	found := map[string]int{} // entries, by hash
	for _, d := range k.diaries.leases {
		assert.Empty(k.t, d.failed, "the job of lease %s on %s", d.lease, d.node)
		r.entries += len(d.wrote)
		for hash, at := range d.snapshots {
			n, err := k.restore(d.purchase, hash)
			if !assert.NoError(k.t, err, "snapshot %s of lease %s on %s", hash, d.lease, d.node) {
				continue
			}
			r.snapshots++
			found[hash] = n
			assert.GreaterOrEqual(k.t, n, d.until(at), "snapshot %s of lease %s lacks entries that were on the disk before", hash, d.lease)
		}
	}
	for lease, e := range from {
		d, ok := k.of(lease)
		if !ok || d.began < 0 {
			continue
		}
		hash := hex.EncodeToString(e.Checkpoint[:])
		if e.Checkpoint == [32]byte{} {
			assert.Zero(k.t, d.began, "lease %s goes on from nothing", lease)
			continue
		}
		n, known := found[hash]
		if assert.True(k.t, known, "lease %s goes on from %s, which no machine has made", lease, hash) {
			r.restored++
			assert.Equal(k.t, n, d.began, "lease %s went on from %s", lease, hash)
		}
	}
}

// restore reads a snapshot with what its customer has, and returns how many entries its diary has.
func (k *containerRun) restore(purchase, hash string) (int, error) {
	customer := purchase[:max(0, strings.LastIndexByte(purchase, '-'))]
	secret, err := backupSecretOf(filepath.Join(k.n.Dir(), "homes", customer))
	if err != nil {
		return 0, err
	}
	b := k.bucket.Backup(nil)
	b.Prefix, b.Region = purchase, "us-east-1"
	if b.Key, err = hkdf.Key(sha256.New, secret, []byte(b.Bucket+"/"+b.Prefix), "gantry-backup-1", messages.BackupKeyBytes); err != nil {
		return 0, err
	}
	bucket, err := snapshot.Open(b, nil)
	if err != nil {
		return 0, err
	}
	var h snapshot.Hash
	if _, err := hex.Decode(h[:], []byte(hash)); err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "gantry-diary-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	ctx, cancel := context.WithTimeout(k.t.Context(), time.Minute)
	defer cancel()
	if err := bucket.Restore(ctx, root, h); err != nil {
		return 0, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, "diary"))
	if err != nil && !os.IsNotExist(err) {
		return 0, err
	}
	n := 0
	for line := range strings.SplitSeq(string(raw), "\n") {
		if line == "" {
			continue
		}
		n++
		if line != fmt.Sprintf("%09d", n) {
			return 0, fmt.Errorf("entry %d is %q", n, line)
		}
	}
	return n, nil
}

// backupSecretOf is what a customer's backups are encrypted with.
func backupSecretOf(home string) (secret []byte, err error) {
	err = filepath.WalkDir(home, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Name() == "backup.key" {
			secret, err = os.ReadFile(path)
		}
		return err
	})
	if err == nil && secret == nil {
		err = fmt.Errorf("%w: backup.key", os.ErrNotExist)
	}
	return secret, err
}

// judgePages: what ran for a while was reached through the gateway, and nobody saw another's page (see visit).
func (k *containerRun) judgePages(r *containerResult) {
	for lease, v := range k.visited {
		r.pages += v.pages
		d, _ := k.of(lease)
		if until, _ := d.last(); v.pages == 0 && until.Sub(d.begin) > time.Minute && v.failed != "" {
			assert.Fail(k.t, "a lease was not reached", "%s on %s, for %s: %s", lease, d.node, until.Sub(d.begin), v.failed)
		}
	}
}
