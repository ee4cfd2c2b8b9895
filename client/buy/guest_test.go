package buy

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/guest/control"
	"github.com/gantry-market/gantry/attest/policy"
	"github.com/gantry-market/gantry/client/attestation"
	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/testkit/guestoutput"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
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
	var none GuestEnds
	got := none.ended(lease, said)
	require.Equal(t, messages.LeaseBroken, got.State)
	require.EqualValues(t, exitUnknown, got.ExitCode)
	require.Contains(t, got.Detail, "did not come")
	running := messages.LeaseStatus{State: messages.LeaseRunning}
	require.Equal(t, running, none.ended(lease, running))
	var ends GuestEnds
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

// A cluster has a private network, and a guest has none: nothing of it is ordered.
func TestAClusterHasNoGuests(t *testing.T) {
	err := ClusterType{}.Apply(&Request{GPU: "A100", Nodes: 2, Image: "x", Guest: true})
	require.ErrorContains(t, err, "a measured guest")
	require.Equal(t, service.CodeUsage, classify(err).Code)
}

// A purchase of a server whose leases are over forgets the secrets of its job, and keeps what opens the output.
func TestKeysOfOutputOutliveTheJobsSecrets(t *testing.T) {
	f := purchase.At(t.TempDir())
	order, lease := solana.PublicKey{1}, solana.PublicKey{2}
	held, err := f.Hold(order)
	require.NoError(t, err)
	p := purchase.Purchase{Order: order, Guest: true, Stage: purchase.Handed, Job: &messages.JobSpec{Env: map[string]string{"TOKEN": "x"}}}
	require.NoError(t, held.Write(p))
	require.NoError(t, f.AddOutputKey(order, lease, []byte{7}))
	withoutSecrets(&p)
	require.NoError(t, held.Write(p))
	p.End(service.CodeDone, "done", nil)
	require.NoError(t, held.Write(p))
	require.NoError(t, held.Release())
	require.False(t, hasSecrets(&p))
	keys, err := f.OutputKeys(solana.PublicKey{}, lease)
	require.NoError(t, err)
	require.Equal(t, [][]byte{{7}}, keys)
}

// machineWith is a machine that says how the job of its lease has ended, and gives this output, with a customer that is connected to it.
func machineWith(t *testing.T, says messages.LeaseStatus, output []byte) (r *Remote, l market.Lease, reads *atomic.Int32) {
	t.Helper()
	start := func() *p2p.Node {
		n, err := p2p.New(p2p.Options{Key: solana.NewWallet().PrivateKey, Listen: []string{p2p.LoopbackListen}, Log: zerolog.Nop()})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, n.Close()) })
		return n
	}
	machine, own := start(), start()
	reads = new(atomic.Int32)
	served := func(p p2p.Protocol) p2p.Protocol { p.Public = true; return p }
	p2p.Handle(machine, served(statusProtocol), func(context.Context, solana.PublicKey, messages.LeaseRequest) (messages.LeaseAnswer, error) {
		return messages.LeaseAnswer{Version: messages.Version, Status: says}, nil
	})
	logs := p2p.Protocol{ID: messages.Logs, MaxRequest: 256 << 10, MaxResponse: 256 << 10}
	p2p.HandleStream(machine, served(logs), func(ctx context.Context, _ solana.PublicKey, req messages.LogsRequest, send func(messages.LogChunk) error) error {
		reads.Add(1)
		if output == nil { // it comes too late
			<-ctx.Done()
			return ctx.Err()
		}
		return send(messages.LogChunk{Offset: req.Offset, Data: output[min(uint64(len(output)), req.Offset):], End: true})
	})
	require.NoError(t, own.Connect(t.Context(), machine.Self()))
	l.Address, l.NodeKey = solana.PublicKey{2}, machine.Key()
	return &Remote{Net: own, Folder: purchase.At(t.TempDir()), Ends: &GuestEnds{}}, l, reads
}

// keepKeys stores what opens a lease's output in the folder of a customer.
func keepKeys(t *testing.T, r *Remote, l market.Lease, keys [][]byte) {
	t.Helper()
	order := solana.PublicKey{1}
	held, err := r.Folder.Hold(order)
	require.NoError(t, err)
	require.NoError(t, held.Write(purchase.Purchase{Order: order, Guest: true, Stage: purchase.Handed}))
	require.NoError(t, held.Release())
	for _, k := range keys {
		require.NoError(t, r.Folder.AddOutputKey(order, l.Address, k))
	}
}

// Whoever asks a server how a job in a guest has ended gets the guest's word, where the server has the keys: the machine's word on it
// counts for nothing. It is read once.
func TestWhoHasTheKeysAnswersWithTheGuestsWord(t *testing.T) {
	fine := messages.LeaseStatus{State: messages.LeaseExited, ExitCode: 0, Detail: "all is well"}
	kept, keys := guestoutput.Seal(t, &control.End{Code: 7}, "hello")
	r, l, reads := machineWith(t, fine, kept)
	keepKeys(t, r, l, keys)
	for range 2 {
		got, err := r.JobStatus(t.Context(), l)
		require.NoError(t, err)
		require.Equal(t, messages.LeaseExited, got.State)
		require.EqualValues(t, 7, got.ExitCode)
		require.Contains(t, got.Detail, "as its guest says")
	}
	require.EqualValues(t, 1, reads.Load())
	var text []byte
	_, ended, err := r.Logs().Read(t.Context(), l, 0, false, func(o service.Output) error { text = append(text, o.Data...); return nil })
	require.NoError(t, err)
	require.True(t, ended)
	require.Equal(t, "hello", string(text))

	cut, keys := guestoutput.Seal(t, nil, "hello")
	other, _ := guestoutput.Seal(t, &control.End{Code: 0}, "hello")
	for what, output := range map[string][]byte{"kept back": cut, "of another guest": other, "not sealed": []byte("hello")} {
		r, l, reads := machineWith(t, fine, output)
		keepKeys(t, r, l, keys)
		for range 2 {
			got, err := r.JobStatus(t.Context(), l)
			require.NoError(t, err, what)
			require.Equal(t, messages.LeaseBroken, got.State, what)
			require.EqualValues(t, exitUnknown, got.ExitCode, what)
			require.Contains(t, got.Detail, "did not come", what)
			require.Equal(t, what != "kept back", strings.Contains(got.Detail, "was changed on its way"), got.Detail)
		}
		require.EqualValues(t, 1, reads.Load(), what)
	}

	running := messages.LeaseStatus{State: messages.LeaseRunning}
	r, l, reads = machineWith(t, running, kept)
	keepKeys(t, r, l, keys)
	got, err := r.JobStatus(t.Context(), l)
	require.NoError(t, err)
	require.Equal(t, running.State, got.State)
	require.Zero(t, reads.Load(), "a job that runs has no end yet")
}

// A machine that gives the output slowly keeps nobody waiting who asks how the job stands.
func TestTheEndOfALongOutputIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	_, keys := guestoutput.Seal(t, &control.End{Code: 7}, "hello")
	r, l, _ := machineWith(t, messages.LeaseStatus{State: messages.LeaseExited, OutputBytes: 1 << 30}, nil)
	keepKeys(t, r, l, keys)
	began := time.Now()
	_, err := r.JobStatus(t.Context(), l)
	require.Less(t, time.Since(began), 3*endTime)
	require.ErrorContains(t, err, "behind 1073741824 bytes of output")
}

// A server without the keys says what the machine says, and that the output is sealed.
func TestWhoHasNoKeysSaysThatItIsSealed(t *testing.T) {
	kept, _ := guestoutput.Seal(t, &control.End{Code: 7}, "hello")
	r, l, reads := machineWith(t, messages.LeaseStatus{State: messages.LeaseExited, ExitCode: -1, Detail: "its exit code is sealed"}, kept)
	got, err := r.JobStatus(t.Context(), l)
	require.NoError(t, err)
	require.EqualValues(t, -1, got.ExitCode)
	require.Contains(t, got.Detail, "sealed")
	require.Zero(t, reads.Load())
	none := func(service.Output) error { require.Fail(t, "sealed bytes were shown"); return nil }
	_, _, err = r.Logs().Read(t.Context(), l, 0, false, none)
	f := classify(service.Unread(err))
	require.Equal(t, service.CodeRefused, f.Code)
	require.Contains(t, f.Reason, "has sealed this output")
	require.Contains(t, f.Advice, "the computer that has ordered the lease")
}
