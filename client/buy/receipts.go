package buy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/records"
)

// errNothingToSign says that the machine offers nothing that is worth a signature now.
var errNothingToSign = errors.New("nothing to sign")

// clockSlack is how many seconds the machine's offer may be ahead of what this client believes the time to be.
const clockSlack = 2

// checkReceipt says whether a customer should sign an offer, given the lease as the chain has it.
func checkReceipt(l market.Lease, offer messages.Receipt, now int64) (records.Receipt, error) {
	r := market.LeaseReceipt(l, offer.Sequence, offer.Seconds)
	most := uint64(l.BillableSecs(now + clockSlack))
	switch {
	case offer.Refused != "":
		return r, fmt.Errorf("%w: %s", errNothingToSign, offer.Refused)
	case solana.PublicKey(offer.Lease) != l.Address || offer.StartedAt != l.StartedAt:
		return r, errors.New("the machine offers a receipt of another lease")
	case offer.Seconds > most:
		return r, fmt.Errorf("the machine claims %d s, but at most %d s have passed", offer.Seconds, most)
	case offer.Sequence <= l.ReceiptSequence || offer.Seconds <= uint64(l.ReceiptSecs):
		return r, fmt.Errorf("%w: %d s are settled", errNothingToSign, l.ReceiptSecs)
	}
	if err := r.Verify(l.NodeKey, solana.Signature(offer.NodeSignature)); err != nil {
		return r, fmt.Errorf("the machine's signature: %w", err)
	}
	return r, nil
}

// sign asks for an offer, checks it and returns the customer's signature. It reports the seconds signed for.
func (r *Remote) sign(ctx context.Context, address solana.PublicKey, now int64) (uint64, error) {
	l, ok := r.View.Lease(address)
	if !ok || l.State() < market.LeaseRunning {
		return 0, errNothingToSign
	}
	offer, err := Call[messages.LeaseRequest, messages.Receipt](ctx, r, l.NodeKey, offerProtocol, messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	if err != nil {
		return 0, err
	}
	receipt, err := checkReceipt(l, offer, now)
	if err != nil {
		return 0, err
	}
	sig, err := receipt.Sign(r.wallet)
	if err != nil {
		return 0, err
	}
	ans, err := Call[messages.SignedReceipt, messages.ReceiptAnswer](ctx, r, l.NodeKey, receiptProtocol, messages.SignedReceipt{Receipt: offer, CustomerSignature: sig})
	if err == nil && ans.Refused != "" {
		err = &service.RefusedByNode{Why: ans.Refused}
	}
	return offer.Seconds, err
}

// keepSigning signs receipts every few seconds until ctx ends. Errors are logged only: reports settle what receipts do
// not.
func (b *Buyer) keepSigning(ctx context.Context, r *Remote, lease solana.PublicKey, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		secs, err := r.sign(try, lease, b.service.Clock.Latest(try).Unix())
		cancel()
		if err == nil {
			b.tell(ReceiptSigned{Lease: lease, Seconds: secs})
		}
		b.log.Debug().Err(err).Uint64("seconds", secs).Str("lease", lease.String()).Msg("client tried to exchange a receipt")
	}
}

// allClaimed is for how long a machine claims no more before its customer believes that it never will: it may not have
// seen the lease's end yet.
const allClaimed = 3 * time.Second

// lastReceipt signs a receipt for all seconds of a lease that is over and waits until it is settled; reports settle it
// when the machine does not answer. It returns the lease as it was last seen.
func (b *Buyer) lastReceipt(ctx context.Context, r *Remote, address solana.PublicKey) market.Lease {
	ctx, cancel := context.WithTimeout(ctx, 12*time.Second)
	defer cancel()
	var last market.Lease
	paid := func() bool {
		l, ok := r.View.Lease(address)
		if ok {
			last = l
		}
		settled := l.PaidSecs
		if !l.Payable() { // the outputs of a redundant job are compared first
			settled = l.ReceiptSecs
		}
		return !ok || (l.State() == market.LeaseEnded && settled == l.BillableSecs(l.EndedAt))
	}
	claimed := time.Now() // when the machine has last claimed more
	for !paid() && ctx.Err() == nil {
		changed := r.View.Changed()
		try, stop := context.WithTimeout(ctx, 4*time.Second)
		secs, err := r.sign(try, address, b.service.Clock.Latest(try).Unix())
		stop()
		if err == nil {
			b.tell(ReceiptSigned{Lease: address, Seconds: secs})
		}
		b.log.Debug().Err(err).Msg("client tried to exchange the last receipt")
		switch {
		case !errors.Is(err, errNothingToSign) || last.ReceiptSecs == 0:
			claimed = time.Now()
		case last.RunToCompletion == 1 && time.Since(claimed) > allClaimed:
			return last // the machine claims its job's time, which may be less than its lease's
		}
		t := time.NewTimer(time.Second)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-t.C:
		}
		t.Stop()
	}
	return last
}
