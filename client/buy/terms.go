package buy

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/sdk/audit"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/market/view"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/snapshot"
)

// networkNone is the request's word for a container that reaches nothing.
const networkNone = "none"

// terms are a request as it is ordered: resolved against the market, its registry and its backup.
type terms struct {
	args    ix.OrderCreateArgs
	job     messages.JobSpec
	models  []market.Model // of which any will do
	cost    market.USDC    // what is reserved
	noPrice bool           // the reference price was taken
	noTime  bool           // the default time was taken
	// cudaByImage: the version of CUDA is what the image needs.
	cudaByImage bool
	// image is what the job's image is, by its registry; zero for none, and for a purchase that is resumed.
	image resolved
	// auction and reveal are the windows of a sealed order, seconds; 0 for instant ones.
	auction, reveal uint32
	// first is the run of the same job that this one is compared with; nil for none.
	first *audit.Run
	// backup is where snapshots of the job's volume go, without what opens it; nil for none.
	backup *messages.Backup
	// Of a volume that is kept: what the request says of it, the folder of the bucket that has all, and the snapshot that was chosen.
	volume, keptIn string
	given          snapshot.Hash
	// ports of the template; none for a purchase that is resumed.
	ports []template.Port
	// health is how to see that the template's program serves; nil where that is not known, and for a purchase that is resumed.
	health *template.Probe
	// Of a purchase that begins.
	request Request
}

// terms resolves a request that was checked. All of it is known before a transaction is sent.
func (b *Buyer) terms(ctx context.Context, mk market.Market, v *view.View, r Request) (terms, error) {
	t := terms{ports: r.Ports, health: r.Health}
	if r.Inspect != "" && r.Inspect != Never && r.Detach && !b.o.Inspects {
		return t, usage("--inspect measures while the command attends the lease", "leave --detach out, or measure later with: gantry verify LEASE --beside-job")
	}
	var err error
	if t.args.MaxPrice, err = r.price(); err != nil {
		return t, err
	}
	if err := b.jobAndBackup(ctx, &t, &r); err != nil {
		return t, err
	}
	t.request, t.noTime = r.withDefaults(), r.Seconds == 0
	if t.args.Requirement, err = r.requirement(); err != nil {
		return t, err
	}
	if t.image.mib > 0 {
		t.args.Requirement.MinDiskGib = uint32(service.GiB(jobspec.OrderDiskMiB(t.job, t.image.mib)))
	}
	first, err := r.rerunOrder(v)
	if err != nil {
		return t, err
	}
	if t.job.Salt, err = b.salt(first); err != nil {
		return t, err
	}
	if t.args.JobDigest, err = t.job.Digest(); err != nil {
		return t, err
	}
	if !first.IsZero() {
		if t.first, err = b.firstRun(ctx, v, first, t.args.JobDigest); err != nil {
			return t, err
		}
	}
	t.order()
	if err := b.chooseModels(ctx, &t, mk, v); err != nil {
		return t, err
	}
	if t.cost, err = market.OrderCost(t.args.MaxPrice, t.args.GPUsPerNode, market.HeldSecs(t.args.Duration, mk.Params.StartDeadlineSecs), t.args.Nodes); err != nil {
		return t, usage("the cost of the order overflows", "lower --max-price or the time")
	}
	t.args.Customer, t.args.Authority = b.customer, b.authority
	return t, nil
}

// order fills in what of the order only the request says.
func (t *terms) order() {
	r := &t.request
	t.args.Duration, t.args.GPUsPerNode, t.args.Nodes = r.Seconds, r.Count, r.Nodes
	t.args.RunToCompletion = r.RunToCompletion
	// A moved lease costs money from its start on, and a client must bring the job to the new machine: so a lease moves
	// only where the request says so, and only while a command or a server attends the purchase.
	t.args.NoMigration = !r.Migrate
	t.args.Interruptible = r.Spot
	if r.Sealed {
		t.args.Sealed, t.auction, t.reveal = true, r.AuctionSecs, r.RevealSecs
	}
	machines := r.Redundancy
	if machines == 0 && t.first != nil {
		machines = t.first.Args.Nodes
	}
	if machines > 0 {
		t.args.Redundant, t.args.RunToCompletion, t.args.Nodes = true, true, machines
	}
}

// jobAndBackup resolves what runs, and where snapshots of it go. A suspended container fills in the request.
func (b *Buyer) jobAndBackup(ctx context.Context, t *terms, r *Request) error {
	t.volume = r.Volume
	backup, saved, err := b.backup(ctx, r, t)
	if err != nil {
		return err
	}
	if saved != nil {
		if err := r.restore(*saved); err != nil {
			return err
		}
		b.tell(ContainerFound{Container: *saved})
	}
	if t.job, t.image, err = b.job(ctx, r); err != nil {
		return err
	}
	if saved != nil {
		t.job.Env = saved.Env
	}
	if t.backup = backup; backup != nil && t.job.Volume == nil {
		return usage("--restore is for volumes", "name one, such as --volume data:50GiB")
	}
	return unrunnable("", jobspec.Check(t.job))
}

// job is what the machines run, and its image.
func (b *Buyer) job(ctx context.Context, r *Request) (messages.JobSpec, resolved, error) {
	job := r.content()
	job.Image = r.Image
	if err := b.isolated(ctx, job); err != nil {
		return job, resolved{}, err
	}
	var err error
	if job.Volume, err = r.volume(); err != nil {
		return job, resolved{}, err
	}
	if err := r.checkContainer(); err != nil {
		return job, resolved{}, err
	}
	if job.Image == "" {
		return job, resolved{}, nil
	}
	if r.Network != networkNone {
		job.Network = messages.NetworkInternet
	}
	image, err := resolveImage(ctx, job, b.registry(r))
	if err != nil {
		return job, resolved{}, err
	}
	job.Image = image.reference
	credential, err := registryCredential(ctx, job.Image, b.registry(r)) // before money moves
	if err != nil {
		return job, resolved{}, err
	}
	if err := readable(credential); err != nil {
		return job, resolved{}, err
	}
	if r.Redundancy == 0 && r.Rerun == "" { // outputs that are compared are made without visitors
		job.SSHKeys = r.SSHKeys
	}
	return job, image, nil
}

// content is what the request itself says of the job.
func (r *Request) content() messages.JobSpec {
	return messages.JobSpec{
		Version: messages.Version, Command: r.Command, MemoryMiB: r.Memory, CPUs: r.CPUs, DiskMiB: r.Disk, Env: maps.Clone(r.Env),
		Entrypoint: r.Entrypoint, User: r.User, ShmMiB: r.Shm,
	}
}

// WithoutEntrypoint leaves the image's entry point out, as docker's empty --entrypoint does: the command begins with the
// program.
func (r *Request) WithoutEntrypoint() error {
	if len(r.Command) == 0 {
		return usage("--entrypoint is empty, and there is no command", "write the program after --, such as: -- python train.py")
	}
	r.Entrypoint, r.Command = r.Command[0], r.Command[1:]
	return nil
}

// isolated refuses a job without an image where machines run containers only: everywhere but on a local network.
func (b *Buyer) isolated(ctx context.Context, job messages.JobSpec) error {
	public, err := b.client.Public(ctx)
	if err != nil || job.Image != "" || (!public && b.client.Local()) {
		return err
	}
	return usage("machines run a command without an image on local networks only, because nothing isolates it", "name an --image, such as --image debian:12")
}

// salt is that of the job: a new one, or for a second run that of the first, since both are for one digest. Only the
// machine on which the first run was ordered knows it.
func (b *Buyer) salt(first solana.PublicKey) ([]byte, error) {
	if first.IsZero() {
		salt := make([]byte, messages.SaltBytes)
		if _, err := rand.Read(salt); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
		return salt, nil
	}
	for _, p := range b.purchases() {
		if p.Order == first {
			return p.Salt, nil
		}
	}
	return nil, nil // an order of another machine: that its job is another one is found by the digest
}
