package buy

import (
	"testing"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/sdk/messages"
)

// An order for a guest needs a policy that tells its image from others, and asks for nothing that guests do not have.
func TestWhatAGuestNeeds(t *testing.T) {
	document := func(change func(*policy.Policy)) string {
		p := policy.Default()
		p.Roots.TPM = []string{"abababababababababababababababababababababababababababababababab"}
		p.TPM.PCRs = []policy.PCR{{Index: 11, Values: []string{"cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"}}}
		change(&p)
		raw, err := attestation.Document{Policy: p}.Encode()
		require.NoError(t, err)
		return string(raw)
	}
	good := Request{GPU: "A100", Seconds: 60, Image: "x", Guest: true, Attest: document(func(*policy.Policy) {})}
	require.NoError(t, good.checkGuest())
	for name, c := range map[string]struct {
		change func(*Request)
		why    string
	}{
		"no policy":        {func(r *Request) { r.Attest = "" }, "nothing says what it must prove"},
		"no image":         {func(r *Request) { r.Image = "" }, "runs containers"},
		"any guest":        {func(r *Request) { r.Attest = document(func(p *policy.Policy) { p.TPM.PCRs = nil }) }, "names no image of a guest"},
		"another register": {func(r *Request) { r.Attest = document(func(p *policy.Policy) { p.TPM.PCRs[0].Index = 7 }) }, "names no image of a guest"},
		"a volume":         {func(r *Request) { r.Volume = "data:1GiB" }, "--volume"},
		"several machines": {func(r *Request) { r.Nodes = 2 }, "--nodes"},
		"compared output":  {func(r *Request) { r.Redundancy = 3 }, "--redundancy"},
		"a shell":          {func(r *Request) { r.SSHKeys = []string{"ssh-ed25519 x"} }, "SSH key"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good
			c.change(&r)
			require.ErrorContains(t, r.checkGuest(), c.why)
		})
	}
	require.NoError(t, (&Request{Volume: "data:1GiB"}).checkGuest(), "without a guest nothing of this counts")
}

// How a job in a guest has ended is the guest's word. A machine alone cannot say that it went well.
func TestTheGuestsWordOnTheEnd(t *testing.T) {
	lease := solana.PublicKey{1}
	said := messages.LeaseStatus{State: messages.LeaseExited, ExitCode: 0, Detail: "all is well"}
	var none guestEnds
	got := none.ended(lease, said)
	require.Equal(t, messages.LeaseBroken, got.State)
	require.EqualValues(t, exitUnknown, got.ExitCode)
	require.Contains(t, got.Detail, "did not come")
	running := messages.LeaseStatus{State: messages.LeaseRunning}
	require.Equal(t, running, none.ended(lease, running))
	var ends guestEnds
	ends.note(lease, control.End{Code: 7})
	got = ends.ended(lease, said)
	require.Equal(t, messages.LeaseExited, got.State)
	require.EqualValues(t, 7, got.ExitCode)
	ends.note(lease, control.End{Failed: "no such image"})
	got = ends.ended(lease, said)
	require.Equal(t, messages.LeaseBroken, got.State)
	require.EqualValues(t, exitNotRun, got.ExitCode)
	require.Contains(t, got.Detail, "no such image")
}
