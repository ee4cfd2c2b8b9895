package runtime

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/badjobs"
	"github.com/gantry-market/gantry/sdk/jobspec"
)

// A specification is refused by the rules of customers' programs. Keys are no part of it, and limits are the machine's.
func TestSpecificationsThatNoMachineRuns(t *testing.T) {
	for _, c := range badjobs.Jobs() {
		if c.Rule == jobspec.RuleKeys {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			j := c.Spec()
			s := Spec{LeaseID: "l", Image: j.Image, Command: j.Command, Env: j.Env, Network: j.Network, Volume: j.Volume, Entrypoint: j.Entrypoint, User: j.User}
			s.Limits.MemoryMiB, s.Limits.DiskMiB, s.Limits.ShmMiB = j.MemoryMiB, j.DiskMiB, j.ShmMiB
			err := s.Validate()
			require.ErrorIs(t, err, ErrSpec)
			require.ErrorContains(t, err, c.Says)
		})
	}
}

// An image that no machine runs is refused before the lease starts, and not asked for again.
func TestImagesThatNoMachineRunsAreRefusedBeforeTheStart(t *testing.T) {
	p, _ := containers(t)
	for _, c := range badjobs.Images() {
		t.Run(c.Name, func(t *testing.T) {
			_, digested := imagetest.Start(t, nil).Push(t, "team/job", c.Make(t))
			err := p.Prepare(background(t), Spec{LeaseID: "l", Image: digested}, Pull{})
			require.ErrorIs(t, err, ErrSpec)
			require.ErrorContains(t, err, c.Says)
			removeJob(t, p, "l")
		})
	}
	// The job's own command is what the image lacks.
	_, digested := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	require.NoError(t, p.Prepare(background(t), Spec{LeaseID: "l", Image: digested, Command: []string{"true"}}, Pull{}))
	require.ErrorIs(t, p.Prepare(background(t), Spec{LeaseID: "l", Image: digested}, Pull{}), ErrSpec)
}
