package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/onramp"
	"github.com/gantry-market/gantry/client/solanapay"
	"github.com/gantry-market/gantry/sdk/market"
)

// Funding is how money comes to the customer's credits from outside.
type Funding struct {
	// Payments hands out deposits to wallets; nil where the server has no public address.
	Payments *solanapay.Payments
	// Onramps takes the webhooks of on-ramps; nil for none.
	Onramps *onramp.Inbox
}

// Ways are the ways to bring money.
type Ways struct {
	Wallet   string       `json:"wallet" doc:"The customer's own wallet"`
	Mint     string       `json:"mint" doc:"Mint of USDC on this cluster"`
	Transfer string       `json:"transfer" doc:"Solana Pay transfer request: sends USDC to the wallet itself, from where it is deposited"`
	QR       solanapay.QR `json:"qr" doc:"Of the transfer request"`
	Payments bool         `json:"payments" doc:"Whether payments can be opened here: the server needs a public address for wallets"`
	Onramps  []string     `json:"onramps" doc:"The on-ramps whose webhooks are taken"`
}

// Notices are webhooks of on-ramps.
type Notices struct {
	Notices []onramp.Notice `json:"notices" doc:"The newest first"`
}

type openPaymentInput struct {
	Body struct {
		Amount  string `json:"amount" pattern:"^[0-9]{1,12}(\\.[0-9]{1,6})?$" patternDescription:"USDC, such as 10 or 2.50" example:"10" doc:"USDC, more than 0 and at most 10,000"`
		Seconds int64  `json:"seconds,omitempty" minimum:"60" maximum:"3600" default:"900" doc:"How long the link lasts"`
	}
}

type paymentInput struct {
	ID string `path:"id" minLength:"22" maxLength:"22" pattern:"^[A-Za-z0-9_-]+$"`
}

// registerFunding adds the operations.
func (s *Server) registerFunding(api huma.API) {
	huma.Register(api, read("list-ways-to-pay", "/v1/credits/ways", "How money comes to the customer's wallet and credits"), s.ways)
	open := huma.Operation{
		OperationID: "open-payment", Method: http.MethodPost, Path: "/v1/credits/payments", Summary: "A link and a QR code by which the customer's wallet deposits credits",
		Description: "It moves nothing: the wallet fetches a transaction, shows it, signs it and sends it.", DefaultStatus: http.StatusCreated,
		Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge),
	}
	huma.Register(api, open, s.openPayment)
	huma.Register(api, read("get-payment", "/v1/credits/payments/{id}", "Whether a payment was fetched, and paid"), s.payment)
	huma.Register(api, read("list-onramp-notices", "/v1/credits/onramp", "What on-ramps have reported, and what the chain shows of it"), s.notices)
}

func (s *Server) ways(ctx context.Context, _ *struct{}) (*reply[Ways], error) {
	mk, err := s.o.Service.Load(ctx)
	if err != nil {
		return nil, failed(err)
	}
	link := solanapay.TransferLink(s.o.Customer, mk.PaymentMint, 0, "USDC to your wallet")
	code, err := solanapay.NewQR(link)
	if err != nil {
		return nil, failed(err)
	}
	w := Ways{Wallet: s.o.Customer.String(), Mint: mk.PaymentMint.String(), Transfer: link, QR: code, Payments: s.o.Funding.Payments != nil, Onramps: []string{}}
	if s.o.Funding.Onramps != nil {
		w.Onramps = s.o.Funding.Onramps.Providers()
	}
	return &reply[Ways]{w}, nil
}

func (s *Server) openPayment(_ context.Context, in *openPaymentInput) (*reply[solanapay.Payment], error) {
	amount, err := market.ParseUSDC(in.Body.Amount)
	if err != nil {
		return nil, problem(http.StatusBadRequest, "amount "+err.Error(), "give USDC, such as 10 or 12.50")
	}
	if s.o.Funding.Payments == nil {
		return nil, problem(http.StatusConflict, "this server has no public address at which wallets could fetch a transaction",
			"start gantry serve with --public-url https://…, behind a proxy with TLS; or deposit with a wallet in the browser")
	}
	p, err := s.o.Funding.Payments.Open(amount, time.Duration(in.Body.Seconds)*time.Second)
	switch {
	case errors.Is(err, solanapay.ErrAmount), errors.Is(err, solanapay.ErrLasts):
		return nil, problem(http.StatusBadRequest, err.Error(), "ask for less, or for more than nothing")
	case err != nil:
		return nil, failed(err)
	}
	return &reply[solanapay.Payment]{p}, nil
}

func (s *Server) payment(ctx context.Context, in *paymentInput) (*reply[solanapay.Payment], error) {
	unknown := problem(http.StatusNotFound, "there is no payment "+in.ID+": it ended long ago, or the server was started anew", "open another")
	if s.o.Funding.Payments == nil {
		return nil, unknown
	}
	p, err := s.o.Funding.Payments.Look(ctx, in.ID)
	switch {
	case errors.Is(err, solanapay.ErrUnknown):
		return nil, unknown
	case err == nil && p.State == solanapay.Paid:
		err = s.o.Service.AwaitCredits(ctx)
	}
	if err != nil {
		return nil, failed(err)
	}
	return &reply[solanapay.Payment]{p}, nil
}

func (s *Server) notices(ctx context.Context, _ *struct{}) (*reply[Notices], error) {
	out := Notices{Notices: []onramp.Notice{}}
	if s.o.Funding.Onramps == nil {
		return &reply[Notices]{out}, nil
	}
	all, err := s.o.Funding.Onramps.Notices(ctx)
	if err != nil {
		return nil, failed(err)
	}
	out.Notices = append(out.Notices, all...)
	return &reply[Notices]{out}, nil
}

// public answers what needs no token and checks its callers by itself: wallets, which have none, and webhooks, which
// are signed. Pages of other sites may ask here too, so that Origin says nothing; Host is compared as anywhere.
func (s *Server) public(g *guard) http.Handler {
	guarded := s.o.Origins.wrap(g) // payments and on-ramps answer other sites as they need
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var h http.Handler
		switch f := s.o.Funding; {
		case f.Payments != nil && strings.HasPrefix(r.URL.Path, solanapay.Prefix):
			h = f.Payments
		case f.Onramps != nil && strings.HasPrefix(r.URL.Path, onramp.Prefix):
			h = f.Onramps
		}
		if h == nil || !g.called(r.Host) {
			guarded.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
