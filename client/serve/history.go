package serve

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
)

// maxAudits is how many leases' histories are read at once: each takes many requests to the cluster.
const maxAudits = 2

// limit is how many may do something at once.
type limit chan struct{}

// take takes a place, or says that there is none.
func (l limit) take(what string) (give func(), err error) {
	select {
	case l <- struct{}{}:
		return func() { <-l }, nil
	default:
		return nil, problem(http.StatusServiceUnavailable, fmt.Sprintf("%d %s already", cap(l), what), "ask again later")
	}
}

// registerHistory adds what is computed from the whole market, and from a lease's transactions.
func (s *Server) registerHistory(api huma.API) {
	huma.Register(api, read("get-statistics", "/v1/statistics", "How much of the market is used, and what it asks"), s.statistics)
	huma.Register(api, read("get-statistics-history", "/v1/statistics/history", "What the market was while this server ran"), s.samples)
	s.registerChecks(api)
	op := read("audit-lease", "/v1/audit/{id}", "The history of a lease, rebuilt from its transactions and checked")
	op.Description = "Of any lease, also of one that is closed and of other customers: every amount, signature and proof is checked. The cluster must still have the transactions."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	huma.Register(api, op, s.audit)
	op = read("get-why", "/v1/why/{id}", "Why an order waits or is over, or how a lease is or has ended")
	op.Description = "Of any order or lease, also of those that are closed, with one reason for programs. Of an open order it counts the machines that fit now, and the others by what keeps them from it."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	huma.Register(api, op, s.why)
}

func (s *Server) statistics(ctx context.Context, _ *struct{}) (*reply[service.Statistics], error) {
	all, err := s.o.Service.Statistics(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Statistics]{all}, nil
}

type samplesInput struct {
	Hours int `query:"hours" minimum:"1" maximum:"8784" default:"24" doc:"How far back"`
}

// SamplesAnswer is what the server has noted down of the market.
type SamplesAnswer struct {
	Samples []Sample `json:"samples" doc:"The oldest first, evenly thinned out to 500. Noted each minute in which somebody asks for the market, and each hour while the server runs; of days before the last one an hour is kept, for a year"`
}

func (s *Server) samples(_ context.Context, in *samplesInput) (*reply[SamplesAnswer], error) {
	if s.o.Samples == nil {
		return nil, problem(http.StatusServiceUnavailable, "this server keeps no history of the market", "ask gantry serve")
	}
	all, err := s.o.Samples.last(in.Hours, samplesAnswered)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[SamplesAnswer]{SamplesAnswer{Samples: all}}, nil
}

type whyInput struct {
	ID string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the order or lease"`
}

func (s *Server) why(ctx context.Context, in *whyInput) (*reply[service.Why], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	give, err := s.audits.take("audits run")
	if err != nil {
		return nil, err
	}
	defer give()
	w, err := s.o.Service.Why(ctx, id)
	if err != nil {
		return nil, failed(err)
	}
	if s.o.Attestations != nil {
		s.o.Attestations.Explain(&w)
	}
	return &reply[service.Why]{w}, nil
}

func (s *Server) audit(ctx context.Context, in *leaseInput) (*reply[service.Audit], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	return audited(s, func() (service.Audit, error) { return s.o.Service.Audit(ctx, id) })
}

// audited answers with what is read from transactions, as long as not too many are read at once.
func audited[T any](s *Server, read func() (T, error)) (*reply[T], error) {
	give, err := s.audits.take("audits run")
	if err != nil {
		return nil, err
	}
	defer give()
	out, err := read()
	if err != nil {
		return nil, failed(err)
	}
	return &reply[T]{out}, nil
}
