package buy

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/wait"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// fingerprint is what a request asks for, without what is drawn for each order: nonce and salt.
func (r terms) fingerprint() ([32]byte, error) {
	r.args.Nonce, r.args.JobDigest = 0, [32]byte{}
	r.job.Salt = nil
	backup := r.backup
	if r.request.Keep && backup != nil { // size and newest snapshot are not of the request, unless it says them
		r.job.Volume, r.args.Requirement.MinDiskGib = nil, 0
		kept := *backup
		kept.From, backup = r.given, &kept
	}
	asks := []any{r.args, r.job, r.auction, r.reveal, r.rerun()}
	if backup != nil {
		asks = append(asks, backup)
	}
	if r.request.Keep {
		asks = append(asks, "keep", r.volume)
	}
	if r.request.UntilStopped {
		asks = append(asks, "until stopped", r.request.Budget)
	}
	if r.request.Retry {
		asks = append(asks, "retry")
	}
	if r.request.MinNodes > 0 {
		asks = append(asks, "min nodes", r.request.MinNodes)
	}
	if r.request.Gateway != "" {
		asks = append(asks, r.request.Gateway, r.request.Public)
	}
	if r.request.Attest != "" {
		asks = append(asks, "attest", r.request.Attest)
	}
	if r.request.Guest {
		asks = append(asks, "guest")
	}
	raw, err := json.Marshal(asks)
	if err != nil {
		return [32]byte{}, fmt.Errorf("request: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// rerun is the order whose job is run again; zero for none.
func (r terms) rerun() solana.PublicKey {
	if r.first == nil {
		return solana.PublicKey{}
	}
	return r.first.Order
}

// begin finds the purchase that the request is about: the one of its name, if an earlier call has begun it, or a new
// one. Nothing is stored yet.
func (b *Buyer) begin(ctx context.Context, v *view.View, mk market.Market, r terms) (*deal, error) {
	asks, err := r.fingerprint()
	if err != nil {
		return nil, err
	}
	name := r.request.Name
	for attempt := uint32(0); ; attempt++ {
		nonce := purchase.Nonce(r.args.Customer, name, attempt)
		if name == "" {
			var raw [8]byte
			if _, err := rand.Read(raw[:]); err != nil {
				return nil, fmt.Errorf("random number: %w", err)
			}
			nonce = binary.LittleEndian.Uint64(raw[:])
		}
		order := market.OrderAddress(r.args.Customer, nonce)
		held, err := b.hold(ctx, order)
		if errors.Is(err, purchase.ErrHeld) {
			return nil, refused(fmt.Sprintf("another gantry command buys %q right now: order %s", name, order), "wait for it, or end it first")
		}
		if err != nil {
			return nil, err
		}
		p, err := held.Read()
		switch {
		case errors.Is(err, purchase.ErrNotFound):
			r.args.Nonce = nonce
			d, err := b.newDeal(ctx, v, mk, r, held, purchase.Purchase{Name: name, Attempt: attempt, Request: asks, Order: order})
			return d, releasedUnless(d, held, err)
		case err != nil:
			return nil, releasedUnless(nil, held, err)
		case p.Request != asks:
			return nil, releasedUnless(nil, held, usage(fmt.Sprintf("the name %q stands for another purchase: order %s of %s UTC", name, order, service.When(p.Created.Unix())),
				"repeat that command as it was, or choose another name; see: gantry resume"))
		case p.CameToNothing():
			if err := held.Release(); err != nil {
				return nil, err
			}
			continue
		case p.Retry && p.Stage == purchase.Over:
			if held, p, err = b.inPlaceOf(ctx, held, p); err != nil {
				return nil, err
			}
			order = p.Order
		}
		if p.Stage != purchase.Over && r.request.RegistryUser != "" { // the password may be a new one
			p.RegistryUser, p.RegistryPass = r.request.RegistryUser, r.request.RegistryPass
		}
		if p.Stage != purchase.Over {
			b.tell(Resumed{Order: order, Created: p.Created})
		}
		return b.dealOf(ctx, v, mk, p, held), nil
	}
}

// heldWithin is how long a program waits for a purchase that its own [Buyer.Attend] may hold.
const heldWithin = 30 * time.Second

// hold takes a purchase for this call.
func (b *Buyer) hold(ctx context.Context, order solana.PublicKey) (*purchase.Held, error) {
	late := time.Now().Add(heldWithin)
	for {
		held, err := b.folder.Hold(order)
		if !errors.Is(err, purchase.ErrHeld) || !b.o.Attends || time.Now().After(late) || wait.For(ctx, 100*time.Millisecond) != nil {
			return held, err
		}
	}
}

// releasedUnless lets others work on a purchase that no deal continues.
func releasedUnless(d *deal, held *purchase.Held, err error) error {
	if d != nil {
		return err
	}
	return errors.Join(err, held.Release())
}

// newDeal completes a purchase that no call has begun on this machine.
func (b *Buyer) newDeal(ctx context.Context, v *view.View, mk market.Market, r terms, held *purchase.Held, p purchase.Purchase) (*deal, error) {
	if p.Name != "" {
		missing, err := b.missing(ctx, p.Order)
		if err != nil {
			return nil, err
		}
		if !missing {
			return nil, refused(fmt.Sprintf("order %s of the name %q exists, and this machine has no record of its job", p.Order, p.Name),
				fmt.Sprintf("continue where it was begun, or take it back: gantry order cancel %s, gantry leases", p.Order))
		}
	}
	asked := &r.request
	p.Args, p.Auction, p.Reveal, p.Job, p.Created = r.args, r.auction, r.reveal, &r.job, time.Now()
	p.Backup, p.Gateway, p.Public = r.backup, asked.Gateway, asked.Public
	keptFolder(&r, &p)
	p.Salt, p.Rerun = r.job.Salt, r.rerun()
	p.Unrecorded = asked.Unrecorded
	if asked.RegistryUser != "" || b.o.DockerLogins { // otherwise gantry resume would use docker's logins of the server's owner
		p.Registry, p.RegistryUser, p.RegistryPass = asked.sends(), asked.RegistryUser, asked.RegistryPass
	}
	p.Detach, p.Receipts, p.Stage = asked.Detach, asked.ReceiptEvery, purchase.Intended
	p.Verify, p.Inspect, p.Attest, p.Guest = asked.Verify, asked.Inspect, asked.Attest, asked.Guest
	p.UntilStopped, p.Retry, p.MinNodes = asked.UntilStopped, asked.Retry, asked.MinNodes
	most, err := asked.budget()
	if err != nil {
		return nil, err
	}
	p.Budget = uint64(most)
	if r.job.Volume != nil {
		p.Secret = make([]byte, volumeSecretBytes)
		if _, err := rand.Read(p.Secret); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
	}
	d := b.dealOf(ctx, v, mk, p, held)
	d.r.models, d.r.noPrice, d.r.noTime, d.r.first, d.r.ports, d.r.health, d.fresh = r.models, r.noPrice, r.noTime, r.first, r.ports, r.health, true
	d.r.cudaByImage, d.r.image = r.cudaByImage, r.image
	return d, nil
}

// dealOf continues with a purchase.
func (b *Buyer) dealOf(ctx context.Context, v *view.View, mk market.Market, p purchase.Purchase, held *purchase.Held) *deal {
	d := &deal{b: b, ctx: ctx, v: v, mk: mk, order: p.Order, began: time.Now(), p: p, held: held}
	d.closers = append(d.closers, func() { _ = held.Release() })
	d.r = terms{args: p.Args, auction: p.Auction, reveal: p.Reveal, backup: p.Backup}
	if p.Job != nil {
		d.r.job = *p.Job
	}
	d.r.models = service.ModelsOf(v, &p.Args.Requirement)
	d.r.cost, _ = market.OrderCost(p.Args.MaxPrice, p.Args.GPUsPerNode, market.HeldSecs(p.Args.Duration, mk.Params.StartDeadlineSecs), p.Args.Nodes) // checked when it was begun
	d.out = Outcome{
		Name: p.Name, Order: d.order.String(), Reserved: d.r.cost.String(), MaxPrice: p.Args.MaxPrice.String(), Seconds: p.Args.Duration, Sealed: p.Args.Sealed,
		Leases: []service.Lease{},
	}
	return d
}

// store writes how far the purchase is.
func (d *deal) store(stage purchase.Stage) error {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	d.p.Stage = stage
	return d.held.Write(d.p)
}

// over stores that nothing is left to be done, and why. It returns the error with which the command ends.
func (d *deal) over(bought bool, end error) error {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	exit, outcome := service.CodeDone, "done"
	if end != nil {
		f := classify(end)
		exit, outcome = f.Code, f.Reason
	}
	raw, err := json.Marshal(d.out)
	if err != nil {
		return errors.Join(end, fmt.Errorf("result of order %s: %w", d.order, err))
	}
	d.p.Bought = d.p.Bought || bought
	if !d.p.Bought {
		d.releaseVolume()
	}
	d.p.End(exit, outcome, raw)
	return errors.Join(end, d.held.Write(d.p))
}

// repeat is again how a purchase of this name ended.
func (d *deal) repeat() (*Outcome, error) {
	if err := json.Unmarshal(d.p.Result, &d.out); d.p.Result != nil && err != nil {
		return nil, fmt.Errorf("%w: the result of order %s: %w", purchase.ErrRecord, d.order, err)
	}
	d.b.tell(Bought{Order: d.order, Created: d.p.Created})
	if d.p.Exit == service.CodeDone {
		return &d.out, nil
	}
	return &d.out, &failure{Code: d.p.Exit, Reason: d.p.Outcome, Advice: "to order again, choose another --name"}
}

// onChain reads the order from the chain itself: the view may be behind.
func (d *deal) onChain() (market.Order, bool, error) {
	return query.Find[market.Order](d.ctx, d.b.client, d.order, d.b.client.WaitLevel())
}
