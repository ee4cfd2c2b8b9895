package serve

import (
	"context"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
)

// Extender gives leases more time. It is safe for concurrent use.
type Extender interface {
	// Extend extends a running lease of the customer once for a key, also when it is called again in another process. Errors:
	// Failure; one for a key that stands for another extension.
	Extend(ctx context.Context, key string, lease solana.PublicKey, seconds uint32) (service.Lease, error)
}

type extendInput struct {
	ID   string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Key  string `header:"Idempotency-Key" required:"true" minLength:"1" maxLength:"64" pattern:"^[A-Za-z0-9._-]+$" doc:"Names the extension; a random one, such as a UUID"`
	Body struct {
		Seconds uint32 `json:"seconds" minimum:"1" maximum:"31536000" doc:"How much longer, seconds"`
	}
}

// registerExtend adds the operation.
func (s *Server) registerExtend(api huma.API) {
	huma.Register(api, huma.Operation{
		OperationID: "extend-lease", Method: http.MethodPost, Path: "/v1/leases/{id}/extend", Summary: "Give a running lease more time",
		Description:  "Reserves the price of the time. A request that is repeated with its Idempotency-Key extends once, also after the server was killed, as long as its key is kept: a year.",
		MaxBodyBytes: maxBody, Errors: append(slices.Clone(mistakes), http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable),
	}, s.extend)
}

func (s *Server) extend(ctx context.Context, in *extendInput) (*reply[service.Lease], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	if _, err := s.actorOf(ctx, id, false); err != nil {
		return nil, err
	}
	a, err := s.actorOfCaller(ctx)
	if err != nil {
		return nil, err
	}
	l, err := a.Extender.Extend(ctx, in.Key, id, in.Body.Seconds)
	if err != nil {
		return nil, failed(err)
	}
	if err := s.o.Service.Await(ctx, l); err != nil {
		return nil, failed(err)
	}
	return &reply[service.Lease]{l}, nil
}
