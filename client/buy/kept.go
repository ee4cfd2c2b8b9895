package buy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
	"github.com/gantry-market/gantry/sdk/volumes"
)

const (
	// DefaultKeptEvery is the time between snapshots of a volume that is kept.
	DefaultKeptEvery = 15 * time.Minute
	// clusterChars of the genesis hash name the cluster in a bucket.
	clusterChars = 12
)

// Bucket is where a customer keeps volumes: s3://BUCKET/FOLDER on the server of an URL, Amazon's by default. Price is what a GiB costs
// there for a month, such as "0.023 USD"; empty where nobody has said it.
type Bucket struct{ Folder, Endpoint, Price string }

// Or is the bucket that a command names, or else this one.
func (in Bucket) Or(folder, endpoint string) Bucket {
	if folder != "" {
		in.Folder, in.Endpoint = folder, ""
	}
	in.Endpoint = cmp.Or(in.Endpoint, endpoint)
	return in
}

// KeepIn says where a volume is kept, if the request keeps one.
func (r *Request) KeepIn(in Bucket) {
	if r.Keep {
		r.Backup, r.BackupEndpoint = in.Folder, in.Endpoint
	}
}

// noBucket is the failure of a volume that is to be kept nowhere.
func noBucket() error {
	return usage("there is no bucket to keep volumes in", "name one once: gantry context set NAME --bucket s3://BUCKET/FOLDER, or GANTRY_BUCKET, or --backup of this command; a server has the one of gantry serve --backup")
}

// Volumes are those that the customer keeps in a bucket.
func (b *Buyer) Volumes(ctx context.Context, in Bucket) (*volumes.Store, error) {
	if in.Folder == "" {
		return nil, noBucket()
	}
	to, err := BucketFolder(in.Folder, in.Endpoint)
	if err != nil {
		return nil, err
	}
	price, err := volumes.ParsePrice(in.Price)
	if err != nil {
		return nil, usage("the price of the bucket: "+err.Error(), "")
	}
	f, err := b.folderOf(ctx, b.customer)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(BackupKeyFile(f)); errors.Is(err, fs.ErrNotExist) { // it is not made now: no volume has a new one
		return nil, refused(fmt.Sprintf("there is no %s in %s, and without it no volume can be read", fileBackups, f.Dir()),
			"put a copy there from the computer that has made your volumes; the first gantry deploy --keep makes one")
	}
	return b.store(ctx, to, price)
}

// store has the volumes below a folder of a bucket.
func (b *Buyer) store(ctx context.Context, to *messages.Backup, price volumes.Price) (*volumes.Store, error) {
	genesis, err := b.client.Genesis(ctx)
	if err != nil {
		return nil, err
	}
	f, err := b.folderOf(ctx, b.customer)
	if err != nil {
		return nil, err
	}
	return volumes.New(volumes.Options{
		Folder: to.Prefix, Cluster: genesis.String()[:clusterChars], Wallet: b.customer.String(), Price: price, Standing: b.orderStanding,
		Open: func(folder string) (messages.Backup, error) {
			of := *to
			of.Prefix = folder
			whole, err := b.withSecrets(&of, f)
			if err != nil {
				return messages.Backup{}, err
			}
			return *whole, nil
		},
		Waiting: func(string) (stop func()) { return b.waiting(Wait{For: WaitSnapshot}) },
	}), nil
}

// KeptKeyFile is the file that opens the volumes that the customer keeps: another computer needs a copy of it.
func (b *Buyer) KeptKeyFile(ctx context.Context) (string, error) {
	f, err := b.folderOf(ctx, b.customer)
	if err != nil {
		return "", err
	}
	return BackupKeyFile(f), nil
}

// orderStanding says what of an order may use a volume.
func (b *Buyer) orderStanding(ctx context.Context, order string) (volumes.Standing, error) {
	out := volumes.Standing{Ended: -1}
	key, err := solana.PublicKeyFromBase58(order)
	if err != nil {
		return out, nil //nolint:nilerr // no order of ours has such an address
	}
	at := b.client.WaitLevel()
	// The order comes first: it makes leases, and leases make none.
	o, exists, err := query.Find[market.Order](ctx, b.client, key, at)
	if err != nil {
		return out, err
	}
	if exists && o.Unused() {
		out.Live = fmt.Sprintf("order %s, which is %s", order, o.State())
		return out, nil
	}
	leases, err := query.Select[market.Lease](ctx, b.client, query.LeasesOfOrder(key), at)
	if err != nil {
		return out, err
	}
	now, err := b.client.Now(ctx)
	if err != nil {
		return out, err
	}
	for _, l := range leases {
		switch {
		case l.State() <= market.LeaseRunning:
			return volumes.Standing{Live: fmt.Sprintf("lease %s, which is %s", l.Address, l.State()), Lease: l.Address.String()}, nil
		case l.CanMigrate():
			return volumes.Standing{Live: fmt.Sprintf("lease %s, whose machine failed and which may move to another", l.Address), Lease: l.Address.String()}, nil
		case l.EndedAt > 0:
			if ago := time.Duration(max(0, now-l.EndedAt)) * time.Second; out.Ended < 0 || ago < out.Ended {
				out.Ended = ago
			}
		}
	}
	return out, nil
}

// keep resolves a volume that is kept: how large it is, and where its snapshots go. The request says so afterwards.
func (b *Buyer) keep(ctx context.Context, r *Request, to *messages.Backup) (kept *messages.Backup, err error) {
	asked, err := volumes.Parse(r.Volume)
	if err != nil {
		return nil, usage("--volume: "+err.Error(), "name it, such as data or data:50GiB:/data")
	}
	s, err := b.store(ctx, to, volumes.Price{})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bucketTime+volumes.LastSnapshotTime)
	defer cancel()
	found, err := s.Find(ctx, asked, to.From, b.repeats(r.Name))
	if err != nil {
		return nil, VolumeFailed(asked.Name, err)
	}
	r.Volume = fmt.Sprintf("%s:%dMiB:%s", found.Name, found.MiB, found.Path)
	b.tell(VolumeFound{Found: found})
	out := *to
	out.Prefix = s.Folder(found.Name)
	if out.Every == 0 {
		out.Every = uint32(DefaultKeptEvery / time.Second)
	}
	return &out, nil
}

// repeats reports whether a purchase of a name has begun, which the request may repeat.
func (b *Buyer) repeats(name string) bool {
	return name != "" && slices.ContainsFunc(b.purchases(), func(p purchase.Purchase) bool { return p.Name == name })
}

// keptIn is the store that has the volume of the purchase.
func (d *deal) keptIn(ctx context.Context) (*volumes.Store, error) {
	to := *d.r.backup
	to.Prefix = d.p.Kept
	return d.b.store(ctx, &to, volumes.Price{})
}

// claimVolume takes the volume that the purchase keeps, before its order is sent.
func (d *deal) claimVolume() error {
	if d.p.Kept == "" || d.b.o.DryRun {
		return nil
	}
	s, err := d.keptIn(d.ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(d.ctx, bucketTime+volumes.LastSnapshotTime)
	defer cancel()
	v := *d.r.job.Volume
	found, err := s.Claim(ctx, d.order.String(), v, d.p.Given)
	if err != nil {
		return VolumeFailed(v.Name, err)
	}
	d.r.backup.From = found.From // the same as that of the record
	return nil
}

// releaseVolume gives the volume back where nothing came of the order. If the bucket does not answer, the claim ends soon by itself.
func (d *deal) releaseVolume() {
	if d.p.Kept == "" || d.r.job.Volume == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.ctx), releaseTime)
	defer cancel()
	s, err := d.keptIn(ctx)
	if err == nil {
		err = s.Release(ctx, d.r.job.Volume.Name, d.order.String())
	}
	if err != nil {
		d.b.log.Warn().Err(err).Stringer("order", d.order).Msg("a volume is not given back yet")
	}
}

// assignVolume says in the bucket which lease has the volume, before its machine gets what opens it.
func (d *deal) assignVolume(ctx context.Context, l market.Lease) error {
	if d.p.Kept == "" {
		return nil
	}
	s, err := d.keptIn(ctx)
	if err == nil {
		err = s.Assign(ctx, d.r.job.Volume.Name, d.order.String(), l.Address.String(), snapshot.Hash(l.CheckpointHash))
	}
	if err != nil {
		return VolumeFailed(d.r.job.Volume.Name, err)
	}
	return nil
}

// releaseTime is how long the bucket may take to be told that an order came to nothing.
const releaseTime = 10 * time.Second

// VolumeFailed is an error of the library of volumes as people read it.
func VolumeFailed(name string, err error) error {
	var f *failure
	as := func(code int, reason, advice string) error {
		return &failure{Code: code, Reason: reason, Advice: advice, Cause: err}
	}
	switch {
	case err == nil, errors.As(err, &f):
		return err
	case errors.Is(err, volumes.ErrInUse):
		return as(service.CodeRefused, err.Error(), "nothing was changed; wait until it is over, or end it: gantry stop LEASE, gantry order cancel ORDER. See: gantry volume show "+name)
	case errors.Is(err, volumes.ErrNone):
		return as(service.CodeRefused, err.Error(), "those that there are: gantry volume list")
	case errors.Is(err, volumes.ErrSize):
		return as(service.CodeUsage, "--volume: "+err.Error(), fmt.Sprintf("give its size, such as --volume %s:50GiB", name))
	case errors.Is(err, volumes.ErrSuspended):
		return as(service.CodeRefused, fmt.Sprintf("volume %s: %v", name, err), fmt.Sprintf("continue that container, without a command: gantry deploy --restore HASH --volume %s --keep", name))
	case errors.Is(err, volumes.ErrLost):
		return as(service.CodeRefused, fmt.Sprintf("volume %s: %v", name, err),
			fmt.Sprintf("begin with an older one: gantry deploy --restore HASH --volume %s --keep. The history of its leases has the hashes: gantry audit LEASE. Or remove it: gantry volume delete %s", name, name))
	case errors.Is(err, snapshot.ErrDamaged):
		return as(service.CodeRefused, fmt.Sprintf("volume %s: %v", name, err), "if it was made on another computer, copy the file backup.key from there: gantry volume list prints its path")
	case errors.Is(err, snapshot.ErrBucket):
		return as(service.CodeRefused, fmt.Sprintf("volumes: %v", err), "check bucket, folder, endpoint, credentials and AWS_REGION; the credentials must read, write, list and delete there")
	}
	return err
}

// secretsFor adds key and credentials to the backup of a purchase.
func (d *deal) secretsFor(ctx context.Context) (*messages.Backup, error) {
	if d.r.backup == nil || d.p.Kept == "" {
		return d.b.WithBackupSecrets(d.r.backup)
	}
	f, err := d.b.folderOf(ctx, d.b.customer)
	if err != nil {
		return nil, err
	}
	return d.b.withSecrets(d.r.backup, f)
}

// keptFolder is the folder in which a request keeps its volume, for the record of its purchase.
func keptFolder(t *terms, p *purchase.Purchase) {
	if t.request.Keep && t.backup != nil {
		p.Kept, p.Given = t.keptIn, t.given
	}
}

// GoOnWith is the command that goes on with a suspended container of a lease, of one of these purchases.
func GoOnWith(all []purchase.Purchase, l *service.Lease, hash snapshot.Hash) string {
	words := []string{"gantry deploy --restore", hash.String()}
	at := slices.IndexFunc(all, func(p purchase.Purchase) bool { return p.Order.String() == l.Order && p.Backup != nil })
	if at < 0 {
		words = append(words, "--backup s3://BUCKET/FOLDER (as the lease was deployed)")
	} else {
		b, folder := all[at].Backup, all[at].Backup.Prefix
		if kept := all[at].Kept; kept != "" {
			words, folder = append(words, "--volume", path.Base(folder), "--keep"), kept
		}
		words = append(words, "--backup", "s3://"+b.Bucket+"/"+folder, "--backup-endpoint", b.Endpoint)
	}
	return strings.Join(append(words, "--gpu", cmp.Or(l.Model, "MODEL"), "--hours 1"), " ")
}
