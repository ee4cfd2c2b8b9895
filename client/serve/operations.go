package serve

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/version"
)

// reply is an answer with a body.
type reply[T any] struct{ Body T }

// Health says that the server answers.
type Health struct {
	Status  string `json:"status" enum:"ok"`
	Version string `json:"version"`
}

// Offers are the nodes that a search has found.
type Offers struct {
	Offers []service.Offer `json:"offers" doc:"The best first"`
	Fit    int             `json:"fit" doc:"How many nodes fit, also those that are not among the offers"`
	Unfit  map[string]int  `json:"unfit" doc:"How many nodes do not fit, by the reason"`
	At     int64           `json:"at" doc:"When the nodes were read, by the cluster's clock, unix seconds: a moment ago, and longer where reading them takes long"`
	// Image is what the offers say of an image together.
	Image *service.ImageRuns `json:"image,omitempty" doc:"How the image that is named has started on the best 64 of them together; absent without one"`
}

// Leases are leases of the customer.
type Leases struct {
	Customer string          `json:"customer"`
	Leases   []service.Lease `json:"leases" doc:"The newest first; closed ones are not among them"`
}

// Latencies measures round trips to machines, and asks them how images have started.
type Latencies interface {
	// Offers returns the offers with the latency of the first of them, and changes none. Errors: service.Failure.
	Offers(ctx context.Context, offers []service.Offer) ([]service.Offer, error)
	// Starts returns the offers with how an image has started on the first of them; those on which it ran come first. Errors: service.Failure.
	Starts(ctx context.Context, image string, offers []service.Offer) ([]service.Offer, error)
	// Runs says how an image has started on the first of some offers, within seconds; nil where nobody could be asked. Errors:
	// service.Failure, of an image that nobody can fetch.
	Runs(ctx context.Context, image string, offers []service.Offer) (*service.ImageRuns, error)
}

type offersInput struct {
	Q       string `query:"q" maxLength:"512" example:"gpu=H100 count>=8 region=us price<2.6" doc:"Terms of gantry search; every one must hold. Empty for all nodes that take work"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000" default:"1000" doc:"The most offers that are answered"`
	Sort    string `query:"sort" enum:"award,tops-price,gbs-price,tops,bandwidth,down,up" default:"award" doc:"What comes first: as orders are awarded, or by what keepers have measured; tops-price and gbs-price are USDC an hour for one measured TOPS or GB/s"`
	Latency bool   `query:"latency" doc:"Measure the round trips between the server and the best 64 of them; machines learn its address by it"`
	Image   string `query:"image" maxLength:"512" example:"pytorch/pytorch:2.9.0-cuda12.8-cudnn9-runtime" doc:"Ask the best 64 of them how this image has started there. Those on which it ran come first; machines learn the server's address and the image's digest by it"`
}

type leaseInput struct {
	ID string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
}

// register adds all operations.
func (s *Server) register(api huma.API) {
	s.registerMarket(api)
	huma.Register(api, read("list-leases", "/v1/leases", "The customer's leases"), s.leases)
	huma.Register(api, read("get-lease", "/v1/leases/{id}", "One of the customer's leases"), s.lease)
	huma.Register(api, read("get-job", "/v1/leases/{id}/job", "What the machine of a lease says of its job: whether it runs, and how it ended"), s.jobStatus)
	order := huma.Operation{
		OperationID: "create-order", Method: http.MethodPost, Path: "/v1/orders", Summary: "Buy compute and run a job on it",
		Description:   "A repeated request with the same Idempotency-Key never buys twice, also after the server was killed: it continues the purchase, and answers with its lease.",
		DefaultStatus: http.StatusCreated, MaxBodyBytes: maxBody, Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
	}
	huma.Register(api, order, s.order)
	later(api.OpenAPI().Paths[order.Path].Post, "201", "The purchase continues; repeat the request to learn more")
	s.registerTemplates(api, order)
	s.registerCatalogue(api, order)
	s.registerDeployments(api)
	s.registerClusters(api, order)
	s.registerVolumes(api)
	s.registerTeam(api)
	stop := order
	stop.OperationID, stop.Path, stop.Summary, stop.Description = "stop-lease", "/v1/leases/{id}/stop", "End a lease; what is not used comes back", "A lease that is over already is answered as it is."
	stop.DefaultStatus = http.StatusOK
	huma.Register(api, stop, s.stop)
	s.registerLogs(api)
	s.registerStatus(api)
	s.registerFunding(api)
	s.registerEvents(api)
	s.registerExtend(api)
	s.registerNames(api)
	s.registerForward(api)
	s.registerFiles(api)
	s.registerHistory(api)
	s.registerProvider(api)
	s.registerPage(api)
}

// registerMarket adds the health of the server, and what the market is now.
func (s *Server) registerMarket(api huma.API) {
	health := read("health", "/health", "Whether the server answers")
	health.Security = []map[string][]string{}
	health.Errors = nil
	huma.Register(api, health, func(context.Context, *struct{}) (*reply[Health], error) {
		return &reply[Health]{Health{Status: "ok", Version: version.Build}}, nil
	})
	huma.Register(api, read("list-offers", "/v1/offers", "Search nodes"), s.offers)
	huma.Register(api, read("get-market", "/v1/market", "The market: parameters, models, relations"), s.market)
}

// mistakes are the statuses of errors that every operation may answer with.
var mistakes = []int{
	http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict,
	http.StatusMisdirectedRequest, http.StatusBadGateway, http.StatusGatewayTimeout,
}

func read(id, path, summary string) huma.Operation {
	return huma.Operation{
		OperationID: id, Method: http.MethodGet, Path: path, Summary: summary,
		Errors: slices.Clone(mistakes),
	}
}

// later documents that an operation may answer 202 with what it answers with at its end.
func later(o *huma.Operation, end, says string) {
	o.Responses["202"] = &huma.Response{Description: says, Content: o.Responses[end].Content}
}

func (s *Server) offers(ctx context.Context, in *offersInput) (*reply[Offers], error) {
	by, err := service.ParseSort(in.Sort)
	if err != nil {
		return nil, failed(err)
	}
	if c, known := callerOf(ctx); known && in.Image != "" {
		if p := permitted(c, opAskRegistry); p != nil {
			return nil, p
		}
	}
	found, err := s.o.Service.BestOffers(ctx, in.Q, by, in.Limit)
	if err != nil {
		return nil, failed(err)
	}
	if in.Latency && s.o.Latencies != nil && len(found.Offers) > 0 {
		if found.Offers, err = s.o.Latencies.Offers(ctx, found.Offers); err != nil {
			return nil, failed(err)
		}
	}
	if in.Image != "" && s.o.Latencies != nil {
		if found.Offers, err = s.o.Latencies.Starts(ctx, in.Image, found.Offers); err != nil {
			return nil, failed(err)
		}
	}
	return &reply[Offers]{Offers{Offers: found.Offers, Fit: found.Fit, Unfit: found.Unfit, At: found.At, Image: service.RunsOf(found.Offers)}}, nil
}

func (s *Server) leases(ctx context.Context, _ *struct{}) (*reply[Leases], error) {
	all, err := s.o.Service.Leases(ctx, s.o.Customer)
	if err != nil {
		return nil, failed(err)
	}
	if all, err = s.shown(all...); err != nil {
		return nil, err
	}
	return &reply[Leases]{Leases{Customer: s.o.Customer.String(), Leases: all}}, nil
}

func (s *Server) lease(ctx context.Context, in *leaseInput) (*reply[service.Lease], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	l, err := s.o.Service.Lease(ctx, s.o.Customer, id)
	if err != nil {
		return nil, failed(err)
	}
	all, err := s.shown(l)
	if err != nil {
		return nil, err
	}
	return &reply[service.Lease]{all[0]}, nil
}

func (s *Server) market(ctx context.Context, _ *struct{}) (*reply[service.Market], error) {
	m, err := s.o.Service.Market(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Market]{m}, nil
}

func address(text string) (solana.PublicKey, error) {
	return publicKey(text, "a lease", "copy it from /v1/leases")
}

// copyWhole is the next step for an address that is not one of the server's answers.
const copyWhole = "copy the whole address"

// publicKey reads an address of what.
func publicKey(text, what, nextStep string) (solana.PublicKey, error) {
	key, err := solana.PublicKeyFromBase58(text)
	if err != nil {
		return key, problem(http.StatusNotFound, text+" is not the address of "+what, nextStep)
	}
	return key, nil
}
