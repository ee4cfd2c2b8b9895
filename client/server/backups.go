package server

import (
	"time"

	"github.com/gantry-market/gantry/client/buy"
)

// Backups say where snapshots of the volumes of all orders go. The zero value keeps none.
type Backups struct {
	folder, endpoint string
	every            time.Duration
}

// NewBackups keeps snapshots below s3://BUCKET/FOLDER, on Amazon's server or the one of an URL; an empty text keeps none. Error: a
// [service.Failure] for a text that is no folder of a bucket.
func NewBackups(text, endpoint string, every time.Duration) (Backups, error) {
	if text == "" {
		return Backups{}, nil
	}
	_, err := buy.BucketFolder(text, endpoint)
	return Backups{text, endpoint, every}, err
}

// of adds the backup to an order with a volume. Each purchase has a folder of its own, and with it a key of its own: the machine of
// one cannot read the snapshots of another.
func (b Backups) of(r *buy.Request) {
	if b.folder == "" || r.Volume == "" {
		return
	}
	r.Backup, r.BackupEndpoint, r.BackupEvery = b.folder+"/"+r.Name, b.endpoint, b.every
}
