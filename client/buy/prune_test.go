package buy

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// What a lease continues from stays in the bucket, and what an order that is not over begins with.
func TestSnapshotsThatAreNamedStay(t *testing.T) {
	var l market.Lease
	l.CheckpointHash = [32]byte{1}
	begins := func(hash byte, stage purchase.Stage) purchase.Purchase {
		return purchase.Purchase{Stage: stage, Backup: &messages.Backup{From: [32]byte{hash}}}
	}
	orders := []purchase.Purchase{begins(2, purchase.Placed), begins(3, purchase.Over), {Stage: purchase.Placed}}
	require.Equal(t, []snapshot.Hash{{1}, {2}}, namedSnapshots([]market.Lease{l}, orders))
}

// Nothing is removed by a wallet that has no key of the snapshots, and no key is made by the attempt.
func TestPruningNeedsTheKey(t *testing.T) {
	f, err := purchase.Open(t.TempDir(), solana.Hash{1}, solana.PublicKey{2})
	require.NoError(t, err)
	b := &Buyer{folder: f}
	o := snapshot.PruneOptions{Keep: 1, Grace: 48 * time.Hour}
	_, err = b.Prune(t.Context(), &messages.Backup{}, o)
	require.Equal(t, service.CodeRefused, service.Classify(err).Code)
	require.ErrorContains(t, err, "there is no "+fileBackups)
	require.NoFileExists(t, BackupKeyFile(f))
	for _, bad := range []snapshot.PruneOptions{{Keep: 0, Grace: o.Grace}, {Keep: 1, Grace: time.Hour}} {
		_, err = b.Prune(t.Context(), &messages.Backup{}, bad)
		require.Equal(t, service.CodeUsage, service.Classify(err).Code)
	}
}
