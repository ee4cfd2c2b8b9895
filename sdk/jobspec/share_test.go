package jobspec_test

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/messages"
)

// An order's disk has the job's files, its volume and its image.
func TestWhatAnImageTakesOfTheDisk(t *testing.T) {
	manifest := func(layers ...v1.Descriptor) *v1.Manifest { return &v1.Manifest{Layers: layers} }
	for _, c := range []struct {
		m    *v1.Manifest
		want uint64
	}{
		{manifest(), 0},
		{manifest(v1.Descriptor{Size: 1, MediaType: types.DockerLayer}), 1},
		{manifest(v1.Descriptor{Size: 400 << 20, MediaType: types.DockerLayer}, v1.Descriptor{Size: 100 << 20, MediaType: types.OCILayerZStd}), 1250},
		{manifest(v1.Descriptor{Size: 400 << 20, MediaType: types.OCIUncompressedLayer}, v1.Descriptor{Size: 100 << 20, MediaType: types.OCILayer}), 650},
		{manifest(v1.Descriptor{Size: 60 << 30, MediaType: types.OCILayer}), 64 << 10}, // the most that machines take
		{manifest(v1.Descriptor{Size: -1}, v1.Descriptor{Size: 1 << 62}), 64 << 10},
	} {
		require.Equal(t, c.want, jobspec.ImageMiB(c.m))
	}
	volume := &messages.Volume{MiB: 10_240}
	for _, c := range []struct {
		job         messages.JobSpec
		image, want uint64
	}{
		{messages.JobSpec{}, 0, 0},
		{messages.JobSpec{DiskMiB: 20_480}, 0, 20_480},
		{messages.JobSpec{}, 1000, 1064},
		{messages.JobSpec{DiskMiB: 20_480}, 1000, 21_480},
		{messages.JobSpec{DiskMiB: 20_480, Volume: volume}, 1000, 31_720},
		{messages.JobSpec{Volume: volume}, 1000, 11_304},
	} {
		require.Equal(t, c.want, jobspec.OrderDiskMiB(c.job, c.image))
		if c.image > 0 { // a machine with that share has room for it
			require.Equal(t, c.image, jobspec.ImageRoomMiB(c.job, jobspec.Share{DiskMiB: c.want}))
		}
	}
	require.Zero(t, jobspec.ImageRoomMiB(messages.JobSpec{}, jobspec.Share{}), "a share that is not known is not limited")
	require.EqualValues(t, 1, jobspec.ImageRoomMiB(messages.JobSpec{DiskMiB: 500}, jobspec.Share{DiskMiB: 500}))
	require.EqualValues(t, 1, jobspec.ImageRoomMiB(messages.JobSpec{}, jobspec.Share{DiskMiB: 10}))
}
