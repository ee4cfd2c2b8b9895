package serve

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/sdk/volumes"
)

// Volumes are those that the customer keeps beyond its leases, in the server's bucket. It is safe for concurrent use.
type Volumes interface {
	// Volumes are all of them, by name.
	Volumes(ctx context.Context) ([]volumes.KeptVolume, error)
	// Volume is one of them. Error: volumes.ErrNone.
	Volume(ctx context.Context, name string) (volumes.KeptVolume, error)
	// DeleteVolume removes one with all its snapshots, and answers what it was. Errors: volumes.ErrNone, volumes.ErrInUse.
	DeleteVolume(ctx context.Context, name string) (volumes.KeptVolume, error)
}

// KeptVolumes are volumes that are kept.
type KeptVolumes struct {
	Volumes []volumes.KeptVolume `json:"volumes" doc:"By name"`
}

type volumeInput struct {
	Name string `path:"name" pattern:"^[a-z0-9][a-z0-9_-]{0,62}$" doc:"Name of the volume"`
}

// registerVolumes adds the operations.
func (s *Server) registerVolumes(api huma.API) {
	huma.Register(api, read("list-volumes", "/v1/volumes", "Volumes that are kept beyond their leases"), func(ctx context.Context, _ *struct{}) (*reply[KeptVolumes], error) {
		if s.o.Volumes == nil {
			return nil, noVolumes()
		}
		all, err := s.o.Volumes.Volumes(ctx)
		if err != nil {
			return nil, failed(err)
		}
		return &reply[KeptVolumes]{KeptVolumes{append([]volumes.KeptVolume{}, all...)}}, nil
	})
	huma.Register(api, read("get-volume", "/v1/volumes/{name}", "One volume"), func(ctx context.Context, in *volumeInput) (*reply[volumes.KeptVolume], error) {
		if s.o.Volumes == nil {
			return nil, noVolumes()
		}
		return volumeReply(s.o.Volumes.Volume(ctx, in.Name))
	})
	huma.Register(api, huma.Operation{
		OperationID: "delete-volume", Method: http.MethodDelete, Path: "/v1/volumes/{name}", Summary: "Remove a volume with all its snapshots",
		Description: "Refused while a lease uses it. It cannot be taken back.", DefaultStatus: http.StatusOK, Errors: slices.Clone(mistakes),
	}, func(ctx context.Context, in *volumeInput) (*reply[volumes.KeptVolume], error) {
		if s.o.Volumes == nil {
			return nil, noVolumes()
		}
		return volumeReply(s.o.Volumes.DeleteVolume(ctx, in.Name))
	})
}

func noVolumes() error {
	return problem(http.StatusConflict, "this server keeps no volumes", "start it with gantry serve --backup s3://BUCKET/FOLDER")
}

func volumeReply(v volumes.KeptVolume, err error) (*reply[volumes.KeptVolume], error) {
	switch {
	case errors.Is(err, volumes.ErrNone):
		return nil, problem(http.StatusNotFound, err.Error(), "see /v1/volumes")
	case err != nil:
		return nil, failed(err)
	}
	return &reply[volumes.KeptVolume]{v}, nil
}
