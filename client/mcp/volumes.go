package mcp

import (
	"context"

	"github.com/gantry-market/gantry/client/serve"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/volumes"
)

func (t *tools) listVolumes(ctx context.Context, _ struct{}) (serve.KeptVolumes, error) {
	if t.o.Volumes == nil {
		return serve.KeptVolumes{Volumes: []volumes.KeptVolume{}}, nil
	}
	all, err := t.o.Volumes.Volumes(ctx)
	return serve.KeptVolumes{Volumes: append([]volumes.KeptVolume{}, all...)}, err
}

type volumeInput struct {
	Name string `json:"name" jsonschema:"name of the volume, as list_volumes says it"`
}

func (t *tools) deleteVolume(ctx context.Context, in volumeInput) (volumes.KeptVolume, error) {
	if t.o.Volumes == nil {
		return volumes.KeptVolume{}, service.Refused("this server keeps no volumes", "there is nothing to delete")
	}
	return t.o.Volumes.DeleteVolume(ctx, in.Name)
}
