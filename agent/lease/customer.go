package lease

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// RefusedError is the error of a request that is refused; its text may be shown to the caller.
type RefusedError struct {
	Why string
	// Unknown: the node has not seen the lease, or who acts for its customer; asking again may help.
	Unknown bool
}

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error {
	return &RefusedError{Why: fmt.Sprintf(format, args...)}
}

// awaitLimit is how long a customer's request waits until the view shows a lease that was awarded a moment ago.
const awaitLimit = 3 * time.Second

func keyString(k store.Key) string { return solana.PublicKey(k).String() }

// Deploy takes the job of a lease from its customer and answers with the lease's status. Sending the same job again
// changes nothing. Error: *RefusedError.
func (m *Manager) Deploy(ctx context.Context, from solana.PublicKey, req messages.DeployRequest) (messages.LeaseStatus, error) {
	address := solana.PublicKey(req.Lease)
	account, err := m.awaitLease(ctx, address)
	if err != nil {
		return messages.LeaseStatus{}, err
	}
	if !m.o.Chain.ActsFor(from, account.Customer) {
		// A session key that was named a moment ago may be seen later than the lease that it has ordered.
		return messages.LeaseStatus{}, &RefusedError{Why: "the lease is of another customer", Unknown: account.State() == market.LeaseAwarded}
	}
	if account.State() != market.LeaseAwarded && account.State() != market.LeaseRunning {
		return messages.LeaseStatus{}, refuse(messages.LeaseOver)
	}
	order, err := m.o.Chain.Order(ctx, account)
	if err != nil {
		return messages.LeaseStatus{}, fmt.Errorf("order of lease %s: %w", address, err)
	}
	digest, err := req.Job.Digest()
	if err != nil {
		return messages.LeaseStatus{}, refuse("the job cannot be encoded: %v", err)
	}
	if digest != order.Digest {
		return messages.LeaseStatus{}, refuse("this is not the job that was ordered: its digest is %x, the order has %x", digest[:8], order.Digest[:8])
	}
	job := store.Job{
		Command: req.Job.Command, Env: req.Job.Env, Image: req.Job.Image, Network: req.Job.Network,
		MemoryMiB: req.Job.MemoryMiB, CPUs: req.Job.CPUs, DiskMiB: req.Job.DiskMiB,
		SSHKeys: req.Job.SSHKeys, Volume: req.Job.Volume, Entrypoint: req.Job.Entrypoint, User: req.Job.User, ShmMiB: req.Job.ShmMiB,
		Unrecorded: req.Unrecorded || req.Registry != nil,
	}
	r := newEntry(account)
	r.Job = &job
	if r.Group, err = groupOf(req); err != nil {
		return messages.LeaseStatus{}, err
	}
	if err := jobspec.Check(req.Job); err != nil {
		return messages.LeaseStatus{}, m.refuseJob(account, err)
	}
	if err := errors.Join(m.o.Runtime.Check(m.spec(r)), m.fits(r, req.Job)); err != nil {
		return messages.LeaseStatus{}, m.refuseJob(account, err)
	}
	if job.Volume != nil && len(req.VolumeKey) != messages.VolumeKeyBytes {
		return messages.LeaseStatus{}, refuse("the key of the volume has %d bytes, not %d; a newer gantry command draws it", len(req.VolumeKey), messages.VolumeKeyBytes)
	}
	if account.State() == market.LeaseAwarded && job.Image != "" && req.Registry != nil {
		m.setCredential(address, req.Registry)
	}
	if req.Backup != nil {
		if err := req.Backup.Validate(); err != nil {
			return messages.LeaseStatus{}, refuse("%v", err)
		}
	}
	if err := m.putJob(account, r, digest, min(req.RevokedUntil, m.o.Now().Add(clockSkew).UnixMilli())); err != nil {
		return messages.LeaseStatus{}, err
	}
	st, err := m.readStatus(ctx, store.Key(address))
	if job.Volume != nil && err == nil && st.State == messages.LeaseWaiting { // the job has not been started
		m.setVolumeSecrets(address, volumeSecrets{req.VolumeKey, req.Backup})
	}
	m.wake(address)
	return st, err
}

// refuseJob stores that the ordered job cannot run here, so that the lease is declined and never billed.
func (m *Manager) refuseJob(account market.Lease, why error) error {
	if err := m.noteRefused(account, market.DeclinedJob, why.Error()); err != nil {
		return err
	}
	m.wake(account.Address)
	return refuse("the job cannot be run: %v", why)
}

// putJob stores the job once, and until when what its customer has granted is void. Neither its command nor its environment
// is logged: customers put secrets into both.
func (m *Manager) putJob(account market.Lease, got store.Lease, digest [32]byte, revoked int64) error {
	r, err := m.o.Store.AddLease(newEntry(account)) // no change if the worker has stored it
	if err != nil {
		return fmt.Errorf("store lease %s: %w", account.Address, err)
	}
	if r.AwardedAt.Unix() != account.AwardedAt {
		return refuse("an earlier lease of this address is being cleared away; try again in a moment")
	}
	if !r.State.Live() {
		return refuse(messages.LeaseOver)
	}
	if r.Refused != "" {
		return refuse("the job cannot be run: %s", r.Refused)
	}
	if r.Job != nil {
		return m.setGroup(r, got.Group) // the digest of both jobs is the order's
	}
	_, err = m.o.Store.Update(r.Address, func(l *store.Lease) error {
		if l.Job == nil {
			l.Job, l.Group, l.RevokedUntil = got.Job, got.Group, max(l.RevokedUntil, revoked)
		}
		return nil
	})
	if err == nil {
		m.log.Info().Str("lease", account.Address.String()).Hex("digest", digest[:8]).Msg("job received")
	}
	return err
}

// await returns a lease of this node as the chain has it, and waits a little for one that is new.
func (m *Manager) awaitLease(ctx context.Context, address solana.PublicKey) (market.Lease, error) {
	t := time.NewTimer(awaitLimit)
	defer t.Stop()
	for {
		changed := m.o.Chain.Changed()
		if l, ok := m.o.Chain.Lease(address); ok {
			return l, nil
		}
		select {
		case <-ctx.Done():
			return market.Lease{}, ctx.Err()
		case <-changed:
		case <-t.C:
			return market.Lease{}, &RefusedError{Why: "this node has no such lease", Unknown: true}
		}
	}
}

// Status answers a customer with the status of its lease, also a while after the lease was closed. Error:
// *RefusedError.
func (m *Manager) Status(ctx context.Context, from solana.PublicKey, lease [32]byte) (messages.LeaseStatus, error) {
	if err := m.authorise(ctx, from, lease); err != nil {
		return messages.LeaseStatus{}, err
	}
	return m.readStatus(ctx, lease)
}

// authorise refuses everybody but the lease's customer and its session keys.
func (m *Manager) authorise(ctx context.Context, from solana.PublicKey, lease [32]byte) error {
	r, err := m.o.Store.Lease(lease)
	if errors.Is(err, store.ErrNotFound) {
		var l market.Lease
		if l, err = m.awaitLease(ctx, lease); err != nil {
			return err
		}
		r = newEntry(l)
	}
	if err != nil {
		return err
	}
	if !m.o.Chain.ActsFor(from, solana.PublicKey(r.Customer)) {
		return refuse("the lease is of another customer")
	}
	return nil
}

// read is a fresh status.
func (m *Manager) readStatus(ctx context.Context, lease store.Key) (messages.LeaseStatus, error) {
	r, err := m.o.Store.Lease(lease)
	if errors.Is(err, store.ErrNotFound) {
		return messages.LeaseStatus{Lease: lease, State: messages.LeaseWaiting}, nil
	}
	if err != nil {
		return messages.LeaseStatus{}, err
	}
	job, err := m.o.Runtime.Status(ctx, keyString(lease))
	if err != nil && !errors.Is(err, runtime.ErrNotFound) {
		return messages.LeaseStatus{}, err
	}
	s := m.statusOf(r, job)
	s.Image = m.pulling(solana.PublicKey(lease))
	return s, nil
}

// maxOffset is more than any job writes, and less than file systems refuse to look for.
const maxOffset = 1 << 40

// logChunkSize is the most of a job's output that one message carries, bytes.
const logChunkSize = 64 << 10

// Logs sends a job's output from an offset on, both outputs in the order in which they were written. With follow it
// waits for the job to begin and goes on to its end. Error: *RefusedError.
func (m *Manager) Logs(ctx context.Context, from solana.PublicKey, req messages.LogsRequest, send func(messages.LogChunk) error) error {
	if err := m.authorise(ctx, from, req.Lease); err != nil {
		return err
	}
	offset := req.Offset
	if offset > maxOffset {
		return refuse("no output at offset %d", offset)
	}
	if err := m.awaitJob(ctx, req); err != nil {
		return err
	}
	r, err := m.o.Runtime.Logs(ctx, keyString(req.Lease), runtime.Output, int64(offset), req.Follow)
	if errors.Is(err, runtime.ErrNotFound) {
		return send(messages.LogChunk{Offset: offset, End: true})
	}
	if err != nil {
		return err
	}
	defer r.Close()
	buf := make([]byte, logChunkSize)
	for {
		n, err := r.Read(buf)
		if n > 0 {
			if err := send(messages.LogChunk{Offset: offset, Data: buf[:n]}); err != nil {
				return err
			}
			offset += uint64(n)
		}
		switch {
		case errors.Is(err, io.EOF):
			return send(messages.LogChunk{Offset: offset, End: true})
		case err != nil:
			return err
		}
	}
}

// awaitJob waits, if the customer follows, until there is a job or never will be.
func (m *Manager) awaitJob(ctx context.Context, req messages.LogsRequest) error {
	for req.Follow {
		st, err := m.readStatus(ctx, req.Lease)
		if err != nil || st.State != messages.LeaseWaiting {
			return err
		}
		if err := wait.For(ctx, jobPoll); err != nil {
			return err
		}
	}
	return nil
}
