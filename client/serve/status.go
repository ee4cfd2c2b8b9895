package serve

import (
	"context"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/version"
)

// Status is where the server works, for whom, and with what.
type Status struct {
	Version string          `json:"version" doc:"Of the server"`
	Cluster service.Cluster `json:"cluster"`
	Account service.Account `json:"account"`
}

// registerStatus adds the operation.
func (s *Server) registerStatus(api huma.API) {
	huma.Register(api, read("get-status", "/v1/status", "The cluster, the customer's credits and the cap of the session key of the token's budget"), s.status)
}

func (s *Server) status(ctx context.Context, _ *struct{}) (*reply[Status], error) {
	cluster, err := s.o.Service.Cluster(ctx)
	if err != nil {
		return nil, failed(err)
	}
	a, err := s.actorOfCaller(ctx)
	if err != nil {
		return nil, err
	}
	account, err := s.o.Service.Account(ctx, s.o.Customer, a.Session)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[Status]{Status{Version: version.Build, Cluster: cluster, Account: account}}, nil
}
