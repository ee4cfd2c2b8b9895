package cli

import (
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
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/query"
	"github.com/gantry-market/gantry/sdk/market/view"
)

// fingerprint is what a request asks for, without what is drawn for each order: nonce and salt.
func (r request) fingerprint() ([32]byte, error) {
	r.args.Nonce, r.args.JobDigest = 0, [32]byte{}
	r.job.Salt = nil
	asks := []any{r.args, r.job, r.auction, r.reveal, r.rerun()}
	if r.backup != nil {
		asks = append(asks, r.backup)
	}
	raw, err := json.Marshal(asks)
	if err != nil {
		return [32]byte{}, fmt.Errorf("request: %w", err)
	}
	return sha256.Sum256(raw), nil
}

// rerun is the order whose job is run again; zero for none.
func (r request) rerun() solana.PublicKey {
	if r.first == nil {
		return solana.PublicKey{}
	}
	return r.first.Order
}

// beginPurchase finds the purchase that the command is about: the one of its name, if an earlier command has begun it, or a
// new one. Nothing is stored yet.
func (s *session) beginPurchase(v *view.View, mk market.Market, r request) (*deployment, error) {
	asks, err := r.fingerprint()
	if err != nil {
		return nil, err
	}
	f, err := s.folder()
	if err != nil {
		return nil, err
	}
	name := s.cli.String("name")
	for attempt := uint32(0); ; attempt++ {
		nonce := purchase.Nonce(r.args.Customer, name, attempt)
		if name == "" {
			var b [8]byte
			if _, err := rand.Read(b[:]); err != nil {
				return nil, fmt.Errorf("random number: %w", err)
			}
			nonce = binary.LittleEndian.Uint64(b[:])
		}
		order := market.OrderAddress(r.args.Customer, nonce)
		held, err := f.Hold(order)
		if errors.Is(err, purchase.ErrHeld) {
			return nil, refused(fmt.Sprintf("another gantry command buys %q right now: order %s", name, order), "wait for it, or end it first")
		}
		if err != nil {
			return nil, err
		}
		s.closers = append(s.closers, func() { _ = held.Release() })
		p, err := held.Read()
		switch {
		case errors.Is(err, purchase.ErrNotFound):
			r.args.Nonce = nonce
			return s.newPurchase(v, mk, r, held, purchase.Purchase{Name: name, Attempt: attempt, Request: asks, Order: order})
		case err != nil:
			return nil, err
		case p.Request != asks:
			return nil, usage(fmt.Sprintf("the name %q stands for another purchase: order %s of %s UTC", name, order, when(p.Created.Unix())),
				"repeat that command as it was, or choose another name; see: gantry resume")
		case p.Stage == purchase.Over && !p.Bought:
			continue // nothing came of it
		}
		d := s.deploymentOf(v, mk, p, held)
		if p.Stage != purchase.Over {
			s.say(" · resumes  order %s of %s UTC", order, when(p.Created.Unix()))
		}
		return d, nil
	}
}

// newPurchase completes a purchase that no command has begun on this machine.
func (s *session) newPurchase(v *view.View, mk market.Market, r request, held *purchase.Held, p purchase.Purchase) (*deployment, error) {
	if p.Name != "" {
		missing, err := s.missing(p.Order)
		if err != nil {
			return nil, err
		}
		if !missing {
			return nil, refused(fmt.Sprintf("order %s of the name %q exists, and this machine has no record of its job", p.Order, p.Name),
				fmt.Sprintf("go on where it was begun, or take it back: gantry order cancel %s, gantry leases", p.Order))
		}
	}
	p.Args, p.Auction, p.Reveal, p.Job, p.Created = r.args, r.auction, r.reveal, &r.job, time.Now()
	p.Backup = r.backup
	p.Salt, p.Rerun = r.job.Salt, r.rerun()
	p.Registry = s.cli.String("registry-credentials")
	p.Detach, p.Receipts, p.Stage = s.cli.Bool("detach"), s.cli.Duration("receipt-every"), purchase.Intended
	p.Verify, p.Inspect = s.cli.String(flagVerify), s.cli.String(flagInspect)
	if r.job.Volume != nil {
		p.Secret = make([]byte, volumeSecretBytes)
		if _, err := rand.Read(p.Secret); err != nil {
			return nil, fmt.Errorf("random number: %w", err)
		}
	}
	d := s.deploymentOf(v, mk, p, held)
	d.r.noPrice, d.r.noTime, d.r.first, d.r.template, d.fresh = r.noPrice, r.noTime, r.first, r.template, true
	return d, nil
}

// deploymentOf is a deployment that goes on with a purchase.
func (s *session) deploymentOf(v *view.View, mk market.Market, p purchase.Purchase, held *purchase.Held) *deployment {
	d := &deployment{s: s, v: v, mk: mk, order: p.Order, began: time.Now(), p: p, held: held}
	d.r = request{args: p.Args, auction: p.Auction, reveal: p.Reveal, backup: p.Backup}
	if p.Job != nil {
		d.r.job = *p.Job
	}
	d.r.model, _ = v.Model(p.Args.Requirement.Model)
	d.r.cost, _ = market.OrderCost(p.Args.MaxPrice, p.Args.GPUsPerNode, p.Args.Duration, p.Args.Nodes) // checked when it was begun
	d.out = deployJSON{
		Name: p.Name, Order: d.order.String(), Reserved: d.r.cost.String(), MaxPrice: p.Args.MaxPrice.String(), Seconds: p.Args.Duration, Sealed: p.Args.Sealed,
		Leases: []service.Lease{},
	}
	return d
}

// store writes how far the purchase is.
func (d *deployment) store(stage purchase.Stage) error {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	d.p.Stage = stage
	return d.held.Write(d.p)
}

// over stores that nothing is left to be done, and why. It returns the error with which the command ends.
func (d *deployment) over(bought bool, end error) error {
	d.jobs.Lock()
	defer d.jobs.Unlock()
	exit, outcome := ExitDone, "done"
	if end != nil {
		f := classify(end)
		exit, outcome = f.Code, f.Reason
	}
	raw, err := json.Marshal(d.out)
	if err != nil {
		return errors.Join(end, fmt.Errorf("result of order %s: %w", d.order, err))
	}
	d.p.Bought = d.p.Bought || bought
	d.p.End(exit, outcome, raw)
	return errors.Join(end, d.held.Write(d.p))
}

// repeat says again how a purchase of this name ended.
func (d *deployment) repeat() error {
	if err := json.Unmarshal(d.p.Result, &d.out); d.p.Result != nil && err != nil {
		return fmt.Errorf("%w: the result of order %s: %w", purchase.ErrRecord, d.order, err)
	}
	d.s.say(" · bought   already: order %s of %s UTC is over; nothing is ordered again", d.order, when(d.p.Created.Unix()))
	if err := d.printResult(); err != nil {
		return err
	}
	if d.p.Exit == ExitDone {
		return nil
	}
	return &failure{Code: d.p.Exit, Reason: d.p.Outcome, Advice: "to order again, choose another --name"}
}

// onChain reads the order from the chain itself: the view may be behind.
func (d *deployment) onChain() (market.Order, bool, error) {
	return query.Find[market.Order](d.s.ctx, d.s.client, d.order, d.s.waitLevel())
}
