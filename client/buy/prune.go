package buy

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// Prune removes old snapshots from a folder of a bucket. Besides those that the options keep, these stay: what the customer's
// leases name on chain, and what its orders begin with.
func (b *Buyer) Prune(ctx context.Context, to *messages.Backup, o snapshot.PruneOptions) (snapshot.Pruned, error) {
	if o.Keep < 1 || o.Grace < snapshot.MinGrace {
		return snapshot.Pruned{}, usage(fmt.Sprintf("--keep %d --grace %v", o.Keep, o.Grace), "keep at least 1 snapshot, and give at least 24h")
	}
	path := BackupKeyFile(b.folder)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // it is not made now: no snapshot has a new one
		return snapshot.Pruned{}, refused(fmt.Sprintf("there is no %s in %s, and without it no snapshot can be read", filepath.Base(path), b.folder.Dir()),
			"put its copy there, or name the wallet that made the snapshots with --keypair")
	}
	whole, err := b.WithBackupSecrets(to)
	if err != nil {
		return snapshot.Pruned{}, err
	}
	v, err := b.service.Snapshot(ctx, ScopeOf(b.folder, []solana.PublicKey{b.customer}))
	if err != nil {
		return snapshot.Pruned{}, err
	}
	orders, err := b.folder.All()
	if err != nil {
		return snapshot.Pruned{}, err
	}
	o.Named = append(o.Named, namedSnapshots(v.LeasesOfCustomer(b.customer), orders)...)
	bucket, err := snapshot.Open(*whole, nil)
	if err != nil {
		return snapshot.Pruned{}, usage(err.Error(), "")
	}
	done, err := bucket.Prune(ctx, o)
	if err != nil {
		return done, refused(err.Error(), "run it again when that is mended: what was not removed yet is removed then")
	}
	return done, nil
}

// namedSnapshots are those that leases name on chain, and those with which purchases that are not over begin.
func namedSnapshots(leases []market.Lease, orders []purchase.Purchase) (named []snapshot.Hash) {
	for _, l := range leases {
		named = append(named, l.CheckpointHash)
	}
	for _, p := range orders {
		if p.Stage != purchase.Over && p.Backup != nil {
			named = append(named, p.Backup.From)
		}
	}
	return named
}
