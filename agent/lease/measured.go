package lease

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/agent/guestvm"
	"github.com/gantry-market/gantry/agent/store"
	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// errNoGuests is what a machine without guests says.
var errNoGuests = errors.New("this machine starts no measured guest; order from another one, or without --guest")

// MeasuredGuest returns how to ask the measured guest of a lease, and starts it at the first call. Who asks was looked at by
// [Manager.Ordered]. A lease that waits for its start is declined where there can be no guest, so that it is never billed. Errors:
// *RefusedError, guestvm.ErrBoots.
func (m *Manager) MeasuredGuest(ctx context.Context, lease solana.PublicKey) (*control.Client, error) {
	account, err := m.awaitLease(ctx, lease)
	if err != nil {
		return nil, err
	}
	if account.State() != market.LeaseAwarded && account.State() != market.LeaseRunning {
		return nil, refuse(messages.LeaseOver)
	}
	r, err := m.o.Store.AddLease(newEntry(account)) // no change if the worker has stored it
	switch {
	case err != nil:
		return nil, fmt.Errorf("store lease %s: %w", lease, err)
	case r.Refused != "":
		return nil, refuse("%s", r.Refused)
	case r.Job != nil && !r.Job.Guest, r.State != store.Awarded && r.State != store.Starting:
		return nil, refuse("the job of this lease has been started already, and nothing of it is in a guest that could prove itself now")
	case m.o.Guests == nil:
		return nil, m.declineGuest(account, errNoGuests)
	}
	client, err := m.o.Guests.Of(lease.String(), m.guestShare(r))
	switch {
	case errors.Is(err, guestvm.ErrHasJob):
		return nil, refuse("%v: it proves nothing any more", err)
	case err != nil && !errors.Is(err, guestvm.ErrBoots):
		m.log.Warn().Err(err).Str("lease", lease.String()).Msg("a lease gets no measured guest")
		if errors.Is(err, guestvm.ErrUnavailable) {
			return nil, m.declineGuest(account, err)
		}
		return nil, m.declineGuest(account, errors.New("the measured guest does not start on this machine")) // the rest is the provider's
	}
	return client, err
}

// declineGuest refuses a guest, and has its lease declined unless that has started.
func (m *Manager) declineGuest(account market.Lease, why error) error {
	if account.State() != market.LeaseAwarded {
		return refuse("%v", why)
	}
	return m.refuseJob(account, why)
}

// guestShare is a lease's part of the machine, all of which its guest gets: what the job asks for is sealed.
func (m *Manager) guestShare(r store.Lease) guestvm.Share {
	share := m.o.Node.Part(bits.OnesCount64(r.GPUMask), len(m.o.GPUUUIDs))
	return guestvm.Share{CPUs: share.CPUs, MemoryMiB: share.MemoryMiB}
}

// DeployGuest takes the job that the customer of a lease has sealed to its measured guest. The guest is given it when the lease starts,
// and sees to it that it is the one of the order. Error: *RefusedError.
func (m *Manager) DeployGuest(ctx context.Context, from solana.PublicKey, req messages.DeployRequest) (messages.LeaseStatus, error) {
	address := solana.PublicKey(req.Lease)
	account, err := m.awaitLease(ctx, address)
	if err != nil {
		return messages.LeaseStatus{}, err
	}
	switch {
	case !m.o.Chain.ActsFor(from, account.Customer):
		return messages.LeaseStatus{}, &RefusedError{Why: "the lease is of another customer", Unknown: account.State() == market.LeaseAwarded}
	case account.State() != market.LeaseAwarded && account.State() != market.LeaseRunning:
		return messages.LeaseStatus{}, refuse(messages.LeaseOver)
	case m.o.Guests == nil:
		return messages.LeaseStatus{}, m.declineGuest(account, errNoGuests)
	case len(req.SealedTo) != 32 || len(req.Sealed) == 0:
		return messages.LeaseStatus{}, refuse("the job is sealed to no key of the guest")
	}
	order, err := m.o.Chain.Order(ctx, account)
	if err != nil {
		return messages.LeaseStatus{}, fmt.Errorf("order of lease %s: %w", address, err)
	}
	switch err := m.o.Guests.Bring(address.String(), [32]byte(req.SealedTo), req.Sealed); {
	case errors.Is(err, guestvm.ErrHasJob): // the answer to an earlier request may have been lost
		return m.readStatus(ctx, req.Lease)
	case err != nil:
		return messages.LeaseStatus{}, refuse(messages.SealLost)
	}
	r := newEntry(account)
	r.Job = &store.Job{Guest: true, Unrecorded: true}
	if err := m.putJob(account, r, order.Digest, min(req.RevokedUntil, m.o.Now().Add(clockSkew).UnixMilli())); err != nil {
		return messages.LeaseStatus{}, err
	}
	m.wake(address)
	return m.readStatus(ctx, req.Lease)
}
