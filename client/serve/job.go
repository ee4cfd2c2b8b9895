package serve

import (
	"context"

	"github.com/gantry-market/gantry/client/service"
)

// jobStatus is what the machine of a lease says of its job.
func (s *Server) jobStatus(ctx context.Context, in *leaseInput) (*reply[service.Job], error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	a, err := s.actorOf(ctx, id, true)
	if err != nil {
		return nil, err
	}
	j, err := a.Machines.Job(ctx, id)
	if err != nil {
		return nil, failed(err)
	}
	return &reply[service.Job]{j}, nil
}
