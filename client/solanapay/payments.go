package solanapay

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"github.com/gantry-market/gantry/client/wallet"
	"github.com/gantry-market/gantry/idl/bindings"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/market"
)

// Bounds of payments.
const (
	// MaxAmount is the most that one payment may ask for.
	MaxAmount = 10_000 * market.OneUSDC
	// MinLasts and MaxLasts bound how long a link hands out transactions.
	MinLasts = time.Minute
	MaxLasts = time.Hour
	// lands is how long after its end a payment may still be found: the last transaction may be on its way.
	lands = 5 * time.Minute
	// most is how many payments are open at once; the oldest goes first.
	most = 64
	// fetches is how many transactions one payment hands out.
	fetches = 30
	// lookEvery is how often the chain is asked for one payment.
	lookEvery = time.Second
)

// Sentinel errors.
var (
	ErrAmount  = errors.New("amount out of range")
	ErrLasts   = errors.New("time out of range")
	ErrUnknown = errors.New("no such payment")
)

// State says how far a payment is.
type State string

// The states.
const (
	Waiting State = "waiting" // nobody has fetched a transaction
	Fetched State = "fetched" // a wallet has; it may sign and send it
	Paid    State = "paid"    // the deposit is on the chain
	Expired State = "expired" // the link hands out nothing any more, and nothing was paid
)

// Payment is a deposit that a wallet is asked for.
type Payment struct {
	ID          string `json:"id"`
	Customer    string `json:"customer" doc:"The only account that gets a transaction, and whose credits rise"`
	Amount      string `json:"amount" doc:"USDC"`
	Link        string `json:"link" doc:"Solana Pay transaction request"`
	QR          QR     `json:"qr"`
	Expires     int64  `json:"expires" doc:"When the link ends, unix seconds"`
	State       State  `json:"state" enum:"waiting,fetched,paid,expired"`
	Transaction string `json:"transaction,omitempty" doc:"Signature of the deposit, once it is paid"`
}

// Chain is what payments read. *chain.Client implements it.
type Chain interface {
	History(ctx context.Context, key solana.PublicKey, at chain.Commitment, limit int) ([]chain.SignatureInfo, error)
	Transaction(ctx context.Context, sig solana.Signature, at chain.Commitment) (chain.Landed, error)
}

// Options of Payments; all are required but Log.
type Options struct {
	// Base is where wallets reach the handler, without its Prefix: ParseBase.
	Base *url.URL
	// Customer is the account that may pay.
	Customer solana.PublicKey
	// Build prepares the customer's deposit, which names the reference.
	Build func(ctx context.Context, amount market.USDC, reference solana.PublicKey) (wallet.Transaction, error)
	Chain Chain
	Now   func() time.Time
	Log   zerolog.Logger
}

// Payments are the open payments of one customer. They end with the process: a link that is lost is opened again, and
// nothing is paid twice by it. It is safe for concurrent use.
type Payments struct {
	o     Options
	posts *rate.Limiter

	mu   sync.Mutex
	open map[string]*payment
}

type payment struct {
	Payment
	amount    market.USDC
	reference solana.PublicKey
	ends      time.Time
	fetched   int
	looked    time.Time
}

// New has no payments yet.
func New(o Options) *Payments {
	return &Payments{o: o, posts: rate.NewLimiter(5, 20), open: map[string]*payment{}}
}

// Open opens a payment. Errors: ErrAmount, ErrLasts.
func (p *Payments) Open(amount market.USDC, lasts time.Duration) (Payment, error) {
	if amount == 0 || amount > MaxAmount {
		return Payment{}, fmt.Errorf("%w: %s USDC; a payment is for more than 0 and at most %s", ErrAmount, amount, MaxAmount)
	}
	if lasts < MinLasts || lasts > MaxLasts {
		return Payment{}, fmt.Errorf("%w: %s; a link lasts %s to %s", ErrLasts, lasts, MinLasts, MaxLasts)
	}
	var raw [48]byte
	if _, err := rand.Read(raw[:]); err != nil {
		return Payment{}, fmt.Errorf("random number: %w", err)
	}
	id, now := base64.RawURLEncoding.EncodeToString(raw[:16]), p.o.Now()
	link := RequestLink(p.o.Base.JoinPath(Prefix, id))
	code, err := NewQR(link)
	if err != nil {
		return Payment{}, err
	}
	x := &payment{
		Payment: Payment{
			ID: id, Customer: p.o.Customer.String(), Amount: amount.String(), Link: link, QR: code, Expires: now.Add(lasts).Unix(), State: Waiting,
		},
		amount: amount, reference: solana.PublicKeyFromBytes(raw[16:]), ends: now.Add(lasts),
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	oldest := ""
	for id, o := range p.open {
		if now.After(o.ends.Add(lands)) {
			delete(p.open, id)
		} else if oldest == "" || o.ends.Before(p.open[oldest].ends) {
			oldest = id
		}
	}
	if len(p.open) >= most {
		delete(p.open, oldest)
	}
	p.open[id] = x
	return x.Payment, nil
}

// Look is a payment as it is now; the chain says whether it is paid. Errors: ErrUnknown, those of the chain.
func (p *Payments) Look(ctx context.Context, id string) (Payment, error) {
	p.mu.Lock()
	x, known := p.open[id]
	if !known {
		p.mu.Unlock()
		return Payment{}, fmt.Errorf("%w: %s", ErrUnknown, id)
	}
	now := p.o.Now()
	ask := x.State == Fetched && now.Sub(x.looked) >= lookEvery
	if ask {
		x.looked = now
	}
	p.mu.Unlock()
	var found solana.Signature
	if ask {
		var err error
		if found, err = p.find(ctx, x.reference, x.amount); err != nil {
			return Payment{}, err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case !found.IsZero():
		x.State, x.Transaction = Paid, found.String()
	case x.State == Waiting && now.After(x.ends), x.State == Fetched && now.After(x.ends.Add(lands)):
		x.State = Expired
	}
	return x.Payment, nil
}

// find looks for the deposit among the transactions that name a reference. Anybody may name it, so that the transaction
// itself has to be the deposit of this customer and amount.
func (p *Payments) find(ctx context.Context, reference solana.PublicKey, amount market.USDC) (solana.Signature, error) {
	all, err := p.o.Chain.History(ctx, reference, chain.Confirmed, 10)
	if err != nil {
		return solana.Signature{}, err
	}
	for _, s := range all {
		if s.Err != nil {
			continue
		}
		l, err := p.o.Chain.Transaction(ctx, s.Signature, chain.Confirmed)
		if errors.Is(err, chain.ErrNotFound) {
			continue
		}
		if err != nil {
			return solana.Signature{}, err
		}
		if l.Err == nil && deposits(&l, p.o.Customer, amount) {
			return s.Signature, nil
		}
	}
	return solana.Signature{}, nil
}

// deposits reports whether a transaction deposits an amount of a customer into its credits.
func deposits(l *chain.Landed, customer solana.PublicKey, amount market.USDC) bool {
	want := binary.LittleEndian.AppendUint64(bindings.Instruction_CreditsDeposit[:], uint64(amount))
	for _, i := range l.Tx.Message.Instructions {
		if int(i.ProgramIDIndex) >= len(l.Keys) || len(i.Accounts) == 0 || int(i.Accounts[0]) >= len(l.Keys) {
			continue
		}
		if l.Keys[i.ProgramIDIndex] == market.ProgramID && l.Keys[i.Accounts[0]] == customer && string(i.Data) == string(want) {
			return true
		}
	}
	return false
}

// errBusy means that too many transactions are asked for at once: each takes a simulation.
var errBusy = errors.New("too many requests")

// fetch hands out a payment's transaction to an account. Errors: refusal, errBusy, those of Build.
func (p *Payments) fetch(ctx context.Context, id string, account solana.PublicKey) (wallet.Transaction, market.USDC, error) {
	p.mu.Lock()
	x, known := p.open[id]
	now := p.o.Now()
	why := refusal("")
	switch {
	case !known:
		why = "This link is not known: it is too old, or the server has been started anew."
	case x.State == Paid:
		why = "This has been paid."
	case now.After(x.ends):
		why = "This link has ended. Ask for a new one."
	case account != p.o.Customer:
		why = refusal("This deposit is for the wallet " + p.o.Customer.String() + ". Choose that account in your wallet.")
	case x.fetched >= fetches:
		why = "This link has been followed too often. Ask for a new one."
	case !p.posts.Allow(): // after all else: strangers use nothing of it up
		p.mu.Unlock()
		return wallet.Transaction{}, 0, errBusy
	default:
		x.fetched++
	}
	p.mu.Unlock()
	if why != "" {
		return wallet.Transaction{}, 0, why
	}
	t, err := p.o.Build(ctx, x.amount, x.reference)
	if err != nil {
		return t, 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if x.State == Waiting {
		x.State = Fetched
	}
	return t, x.amount, nil
}

// refusal is why a wallet gets no transaction, for its owner to read.
type refusal string

func (r refusal) Error() string { return string(r) }
