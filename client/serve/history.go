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
	op := read("audit-lease", "/v1/audit/{id}", "The history of a lease, rebuilt from its transactions and checked")
	op.Description = "Of any lease, also of one that is closed and of other customers: every amount, signature and proof is checked. The cluster must still have the transactions."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	huma.Register(api, op, s.audit)
}

func (s *Server) statistics(ctx context.Context, _ *struct{}) (*reply[service.Statistics], error) {
	all, err := s.o.Service.Statistics(ctx)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Statistics]{all}, nil
}

func (s *Server) audit(ctx context.Context, in *leaseInput) (*reply[service.Audit], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	give, err := s.audits.take("audits run")
	if err != nil {
		return nil, err
	}
	defer give()
	a, err := s.o.Service.Audit(ctx, id)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Audit]{a}, nil
}
