package server

import (
	"context"

	"github.com/gantry-market/gantry/client/buy"
	"github.com/gantry-market/gantry/sdk/volumes"
)

// kept are the volumes that the customer keeps in the server's bucket. All budgets share them.
func (a *Account) kept(ctx context.Context) (*volumes.Store, error) {
	b, err := a.buyer(ctx, false)
	if err != nil {
		return nil, err
	}
	return b.Volumes(ctx, a.Bucket)
}

// Volumes implements serve.Volumes.
func (a *Account) Volumes(ctx context.Context) ([]volumes.KeptVolume, error) {
	in, err := a.kept(ctx)
	if err != nil {
		return nil, err
	}
	all, err := in.List(ctx)
	return all, buy.VolumeFailed("", err)
}

// Volume implements serve.Volumes.
func (a *Account) Volume(ctx context.Context, name string) (volumes.KeptVolume, error) {
	in, err := a.kept(ctx)
	if err != nil {
		return volumes.KeptVolume{}, err
	}
	v, err := in.Show(ctx, name)
	return v, buy.VolumeFailed(name, err)
}

// DeleteVolume implements serve.Volumes.
func (a *Account) DeleteVolume(ctx context.Context, name string) (volumes.KeptVolume, error) {
	in, err := a.kept(ctx)
	if err != nil {
		return volumes.KeptVolume{}, err
	}
	v, err := in.Delete(ctx, name)
	return v, buy.VolumeFailed(name, err)
}
