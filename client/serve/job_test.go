package serve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
)

func (echoes) Job(_ context.Context, lease solana.PublicKey) (service.Job, error) {
	if lease != (solana.PublicKey{1}) {
		return service.Job{}, service.Refused("no such lease", "look at the list")
	}
	return service.DescribeJob(&market.Lease{Meta: market.Meta{Address: lease}}, messages.LeaseStatus{State: messages.LeaseExited, ExitCode: 3, Detail: "it ended"}), nil
}

// fetch reads a whole answer.
func fetch(t *testing.T, url, token string) (status int, raw []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	raw, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, raw
}

// What a machine says of a job, with how it has ended.
func TestAJobTellsHowItEnded(t *testing.T) {
	url, token := machines(t)
	status, raw := fetch(t, url+"/v1/leases/"+solana.PublicKey{1}.String()+"/job", token)
	require.Equal(t, http.StatusOK, status, "%s", raw)
	var j service.Job
	require.NoError(t, json.Unmarshal(raw, &j))
	require.Equal(t, service.JobExited, j.State)
	require.EqualValues(t, 3, *j.ExitCode)
	require.Equal(t, "it ended", j.Detail)
	status, raw = fetch(t, url+"/v1/leases/"+solana.PublicKey{2}.String()+"/job", token)
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, string(raw), "no such lease")
}

// A job that is not over has no exit code, which would read as success.
func TestOnlyAJobThatIsOverHasAnExitCode(t *testing.T) {
	for state, want := range map[messages.LeaseState]string{
		messages.LeaseWaiting: service.JobWaiting, messages.LeaseRunning: service.JobRunning, messages.LeaseExited: service.JobExited,
		messages.LeaseStopped: service.JobStopped, messages.LeaseBroken: service.JobBroken, 0: service.JobWaiting,
	} {
		got := service.DescribeJob(&market.Lease{}, messages.LeaseStatus{State: state, ExitCode: 1})
		require.Equal(t, want, got.State)
		require.Equal(t, got.State == service.JobWaiting || got.State == service.JobRunning, got.ExitCode == nil, want)
	}
}
