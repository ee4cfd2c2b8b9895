package buy

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/volumes"
)

const (
	// volumeSecretBytes is the length of what the keys of a purchase's volumes are made of.
	volumeSecretBytes = 32
	// tagVolumeKey keeps these keys apart from all others.
	tagVolumeKey = "gantry-volume-1"
	// keyEvery is how often a machine is given the key of a volume until its job runs: it has the key in memory alone, and
	// may have been started anew.
	keyEvery = 500 * time.Millisecond
)

// volume reads the volume of a job; nil for none.
func (r *Request) volume() (*messages.Volume, error) {
	if r.Volume == "" {
		return nil, nil
	}
	if r.Image == "" {
		return nil, usage("--volume is for containers", "name an --image, or leave --volume out")
	}
	v, err := r.parseVolume()
	if err != nil {
		return nil, usage("--volume: "+err.Error(), "name it, its size and where the container sees it, such as data:50GiB:/data")
	}
	return &v, nil
}

// parseVolume reads the volume. Of one that is kept, the size may not be known before the bucket was asked.
func (r *Request) parseVolume() (messages.Volume, error) {
	if !r.Keep {
		return messages.ParseVolume(r.Volume)
	}
	v, err := volumes.Parse(r.Volume)
	if v.MiB == 0 {
		v.MiB = messages.MinVolumeMiB
	}
	if v.Path == "" {
		v.Path = "/" + v.Name
	}
	return v, err
}

// volumeKey is the key of a lease's volume; nil for a job that has none. Each lease has a key of its own, so that no
// machine knows another's.
func (d *deal) volumeKey(lease solana.PublicKey) ([]byte, error) {
	if d.r.job.Volume == nil {
		return nil, nil
	}
	if len(d.p.Secret) != volumeSecretBytes {
		return nil, errors.New("the record of this order has no secret for the keys of its volumes")
	}
	key, err := hkdf.Key(sha256.New, d.p.Secret, lease[:], tagVolumeKey, messages.VolumeKeyBytes)
	if err != nil {
		return nil, fmt.Errorf("key of the volume: %w", err)
	}
	return key, nil
}

// volumeSecrets are what a machine needs for the volume of a lease, and keeps in memory.
type volumeSecrets struct {
	key    []byte
	backup *messages.Backup
}

func (d *deal) volumeSecrets(ctx context.Context, lease solana.PublicKey) (v volumeSecrets, err error) {
	if v.key, err = d.volumeKey(lease); err == nil {
		v.backup, err = d.secretsFor(ctx)
	}
	return v, err
}

// keepKey gives a machine the key of its volume again until the job runs or ctx ends. Error: *service.RefusedByNode.
func (d *deal) keepKey(ctx context.Context, l market.Lease, v volumeSecrets) error {
	t := time.NewTicker(keyEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		st, err := d.deploy(ctx, l, nil, v, 0)
		var refusal *service.RefusedByNode
		if errors.As(err, &refusal) {
			return refusal
		}
		if err == nil && st.State != messages.LeaseWaiting {
			return nil
		}
	}
}
