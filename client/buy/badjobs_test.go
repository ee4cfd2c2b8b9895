package buy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/gagliardetto/solana-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/imagetest"
	"github.com/gantry-market/gantry/internal/testkit/badjobs"
	"github.com/gantry-market/gantry/internal/testkit/fakerpc"
	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/jobspec"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

// requestOf asks for a job.
func requestOf(j messages.JobSpec) *Request {
	r := whole(func(r *Request) {
		r.Command, r.Env, r.Network, r.SSHKeys, r.Memory, r.Disk = j.Command, j.Env, j.Network, j.SSHKeys, j.MemoryMiB, j.DiskMiB
		r.Entrypoint, r.User, r.Shm = j.Entrypoint, j.User, j.ShmMiB
	})
	if j.Image == "" {
		r.Image = ""
	}
	if v := j.Volume; v != nil {
		r.Volume = fmt.Sprintf("%s:%dMiB:%s", v.Name, v.MiB, v.Path)
	}
	return r
}

func requireUsage(t *testing.T, err error, says string) {
	t.Helper()
	var f *service.Failure
	require.True(t, errors.As(err, &f), "%v", err)
	require.Equal(t, service.CodeUsage, f.Code)
	require.Contains(t, f.Reason, says)
}

// What a machine would refuse is a usage error before anybody is asked, with the machine's words.
func TestJobsThatNoMachineRunsAreNotOrdered(t *testing.T) {
	require.NoError(t, requestOf(badjobs.Good()).Check())
	for _, c := range badjobs.Jobs() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Rule == jobspec.RuleReference { // a tag is resolved
				return
			}
			requireUsage(t, requestOf(c.Spec()).Check(), c.Says)
		})
	}
	node := fakerpc.New(t)
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: node.URL(), WS: node.WS()}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	b, err := New(t.Context(), Options{Client: client, Key: solana.NewWallet().PrivateKey, Root: t.TempDir()})
	require.NoError(t, err)
	_, err = b.Buy(t.Context(), *whole(func(r *Request) { r.Env = map[string]string{"my var": "1"} }))
	requireUsage(t, err, `--env: the environment variable "my var" has a name`)
	require.Contains(t, classify(err).Advice, "MY_VARIABLE")
	all, err := b.Folder().All()
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestImagesThatNoMachineRunsAreNotOrdered(t *testing.T) {
	for _, c := range badjobs.Images() {
		t.Run(c.Name, func(t *testing.T) {
			tagged, _ := imagetest.Start(t, nil).Push(t, "team/job", c.Make(t))
			_, err := resolveImage(t.Context(), messages.JobSpec{Image: tagged}, access{})
			requireUsage(t, err, c.Says)
			require.Contains(t, err.Error(), "team/job:v1")
			require.NotEmpty(t, classify(err).Advice)
		})
	}
	tagged, _ := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t))
	_, err := resolveImage(t.Context(), messages.JobSpec{Image: tagged, Command: []string{"true"}}, access{})
	require.NoError(t, err)
}

// A credential that a machine would not read is known before the order too.
func TestCredentialsThatNoMachineReads(t *testing.T) {
	require.NoError(t, readable(&messages.RegistryCredential{Token: strings.Repeat("t", 16384)}))
	requireUsage(t, readable(&messages.RegistryCredential{Token: strings.Repeat("t", 16385)}), "--registry-credentials")
	require.NoError(t, readable(nil))
}

// A job that a machine refuses after the award is refused again: the advice is to order anew, not to bring it again.
func TestTheAdviceAfterARefusal(t *testing.T) {
	l := market.Lease{Meta: market.Meta{Address: solana.PublicKey{7}}}
	refusal := refusedJob(l, &service.RefusedByNode{Why: "the job cannot be run: no runsc\x1b[2J"})
	one := classify((&deal{leases: []market.Lease{l}}).withLeases(refusal))
	require.NotContains(t, one.Advice, "gantry resume")
	require.Contains(t, one.Advice, "order anew")
	require.NotContains(t, one.Reason, "\x1b")
	require.Equal(t, service.CodeRefused, one.Code)
	two := classify((&deal{leases: []market.Lease{l, {}}}).withLeases(refusedJob(l, &service.RefusedByNode{Why: "no runsc"})))
	require.NotContains(t, two.Advice, "gantry resume")
	require.Contains(t, two.Advice, "gantry stop")
}
