package e2e_test

import (
	"context"
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/fault"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/market/ix"
	"github.com/gantry-market/gantry/sdk/messages"
	"github.com/gantry-market/gantry/sdk/p2p"
)

func request(id string) p2p.Protocol {
	return p2p.Protocol{ID: id, MaxRequest: 256 << 10, MaxResponse: messages.MaxMessage}
}

// ask is a keeper's challenge.
func (w *testbed) ask(a *agent, kind messages.CheckKind, change func(*messages.ChallengeRequest)) (messages.ChallengeResponse, error) {
	req := messages.ChallengeRequest{Version: messages.Version, Kind: kind, Node: a.node, Period: uint64(time.Now().Unix()) / 5}
	_, err := rand.Read(req.Nonce[:])
	require.NoError(w.t, err)
	if change != nil {
		change(&req)
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	resp, err := p2p.Call[messages.ChallengeRequest, messages.ChallengeResponse](ctx, w.keeper, a.key, request(messages.Challenge), req)
	if err == nil {
		require.Equal(w.t, req.Nonce, resp.Nonce)
	}
	return resp, err
}

func (w *testbed) deploy(a *agent, lease solana.PublicKey, job messages.JobSpec) messages.LeaseAnswer {
	w.t.Helper()
	w.find(a)
	answer, err := p2p.Call[messages.DeployRequest, messages.LeaseAnswer](w.t.Context(), w.customer, a.key, request(messages.Deploy),
		messages.DeployRequest{Version: messages.Version, Lease: lease, Job: job})
	require.NoError(w.t, err)
	return answer
}

// find connects the customer with the agent as a customer does: through a keeper's lookup, unless its address is known.
func (w *testbed) find(a *agent) {
	w.t.Helper()
	if a.at != "" {
		require.NoError(w.t, w.customer.Connect(w.t.Context(), p2p.Peer{Key: a.key, Addrs: []string{a.at}}))
		return
	}
	require.NoError(w.t, w.customer.Remember(w.keeper.Self()))
	require.Eventually(w.t, func() bool {
		return w.customer.Find(w.t.Context(), a.key, []solana.PublicKey{w.keeper.Key()}) == nil
	}, time.Minute, 50*time.Millisecond)
}

func (w *testbed) status(a *agent, lease solana.PublicKey) messages.LeaseAnswer {
	w.t.Helper()
	w.find(a)
	answer, err := p2p.Call[messages.LeaseRequest, messages.LeaseAnswer](w.t.Context(), w.customer, a.key, request(messages.Status),
		messages.LeaseRequest{Version: messages.Version, Lease: lease})
	require.NoError(w.t, err)
	return answer
}

// untilStatus waits until the machine says something of a lease.
func (w *testbed) untilStatus(a *agent, lease solana.PublicKey, within time.Duration, is func(messages.LeaseStatus) bool) {
	w.t.Helper()
	require.Eventually(w.t, func() bool { return is(w.status(a, lease).Status) }, within, 100*time.Millisecond) // a peer may ask 20 times a second
}

func (w *testbed) logs(a *agent, lease solana.PublicKey, follow bool) string {
	w.t.Helper()
	w.find(a)
	var out strings.Builder
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	ended := false
	err := p2p.CallStream(ctx, w.customer, a.key, request(messages.Logs), messages.LogsRequest{Version: messages.Version, Lease: lease, Follow: follow},
		func(c messages.LogChunk) error {
			require.Empty(w.t, c.Refused)
			out.Write(c.Data)
			ended = c.End
			return nil
		})
	require.NoError(w.t, err)
	require.True(w.t, ended)
	return out.String()
}

// receipt takes an offer, checks it and gives the signature back.
func (w *testbed) receipt(a *agent, lease solana.PublicKey) messages.Receipt {
	w.t.Helper()
	w.find(a)
	r, err := p2p.Call[messages.LeaseRequest, messages.Receipt](w.t.Context(), w.customer, a.key, request(messages.ReceiptOffer),
		messages.LeaseRequest{Version: messages.Version, Lease: lease})
	require.NoError(w.t, err)
	if r.Refused != "" {
		return r
	}
	l, ok := w.view.Lease(lease)
	require.True(w.t, ok)
	message := market.LeaseReceipt(l, r.Sequence, r.Seconds)
	require.NoError(w.t, message.Verify(a.key, r.NodeSignature))
	sig, err := message.Sign(w.keys.Customers[0].Key)
	require.NoError(w.t, err)
	answer, err := p2p.Call[messages.SignedReceipt, messages.ReceiptAnswer](w.t.Context(), w.customer, a.key, request(messages.ReceiptSigned),
		messages.SignedReceipt{Receipt: r, CustomerSignature: sig})
	require.NoError(w.t, err)
	require.Empty(w.t, answer.Refused)
	return r
}

// running and its like are conditions on a lease.
func running(l market.Lease, ok bool) bool { return ok && l.State() == market.LeaseRunning }
func ended(l market.Lease, ok bool) bool   { return ok && l.State() == market.LeaseEnded }

func job(script string) messages.JobSpec {
	return messages.JobSpec{Version: messages.Version, Command: []string{"sh", "-c", script}, Env: map[string]string{"WHO": "customer"}}
}

// A whole life: registered, challenged, leased, run to completion, paid by a receipt, closed.
func TestLeaseToCompletion(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()

	live, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.NotNil(t, live.Liveness)
	require.Empty(t, live.Liveness.Leases)
	inv, err := w.ask(a, messages.CheckInventory, nil)
	require.NoError(t, err)
	require.True(t, inv.Inventory.Simulated)
	require.Len(t, inv.Inventory.GPUs, 1)
	devices := w.view.DevicesOf(a.node)
	require.Len(t, devices, 1)
	require.Equal(t, devices[0].Identity, inv.Inventory.GPUs[0].Identity)

	spec := job("echo hello $WHO on $GANTRY_GPU_COUNT GPU; sleep 0.1; echo trouble >&2; sleep 2; echo bye; exit 3")
	l := w.order(a.node, spec, 600, true)
	began := time.Now()
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	l = w.until(l.Address, "it runs", running)
	t.Logf("running %s after the job was sent", time.Since(began).Round(time.Millisecond))
	require.Equal(t, "hello customer on 1 GPU\ntrouble\nbye\n", w.logs(a, l.Address, true))
	l = w.until(l.Address, "it ended", ended)
	require.Equal(t, market.EndedJobDone, l.Reason())
	st := w.status(a, l.Address)
	require.Equal(t, messages.LeaseExited, st.Status.State)
	require.EqualValues(t, 3, st.Status.ExitCode)

	var r messages.Receipt
	require.Eventually(t, func() bool { // it claims the time until the job ended
		r = w.receipt(a, l.Address)
		return r.Refused == "" && r.Seconds >= 2
	}, time.Minute, 100*time.Millisecond)
	require.LessOrEqual(t, r.Seconds, uint64(l.BillableSecs(l.EndedAt)))
	l = w.until(l.Address, "it is paid", func(l market.Lease, ok bool) bool { return ok && uint64(l.PaidSecs) == r.Seconds })
	require.EqualValues(t, r.Sequence, l.ReceiptSequence)
	require.Eventually(t, func() bool { return strings.Contains(w.receipt(a, l.Address).Refused, "nothing to sign") }, time.Minute, 100*time.Millisecond)

	instruction, err := ix.LeaseClose(ix.LeaseCloseArgs{Authority: w.keys.Customers[0].Address(), Lease: l})
	require.NoError(t, err)
	require.Eventually(t, func() bool { // a report could still pay a second between the job's end and the lease's
		_, err := w.sender.Send(t.Context(), w.keys.Customers[0].Key, nil, instruction)
		return err == nil
	}, 60*time.Second, time.Second)
	require.Eventually(t, func() bool { return strings.Contains(a.out.String(), "account closed") }, time.Minute, 50*time.Millisecond)

	screen := a.command("status", "--data-dir", a.dir, "--url", w.at.RPC, "--ws", w.at.WS)
	require.Contains(t, screen, "1 of 1 keepers connected")
	require.Contains(t, screen, "measured   not yet")
	a.stop()
}

// A stranger gets nothing, another job is not run, and the lease is the customer's to stop.
func TestStoppedByItsCustomer(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()
	spec := job("trap 'echo stopping; exit 0' TERM; echo up; while :; do sleep 0.1; done")
	l := w.order(a.node, spec, 600, false)
	require.Contains(t, w.deploy(a, l.Address, job("echo something else")).Refused, "not the job that was ordered")
	stranger := w.network(w.keys.Customers[1].Key)
	require.NoError(t, stranger.Remember(w.keeper.Self()))
	require.NoError(t, stranger.Find(t.Context(), a.key, []solana.PublicKey{w.keeper.Key()}))
	_, err := p2p.Call[messages.LeaseRequest, messages.LeaseAnswer](t.Context(), stranger, a.key, request(messages.Status),
		messages.LeaseRequest{Version: messages.Version, Lease: l.Address})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "a wallet without a lease here and without an open order is a stranger: %v", err)
	_, err = p2p.Call[messages.ChallengeRequest, messages.ChallengeResponse](t.Context(), stranger, a.key, request(messages.Challenge),
		messages.ChallengeRequest{Version: messages.Version, Kind: messages.CheckLiveness, Node: a.node})
	require.True(t, p2p.IsCode(err, p2p.CodeRefused), "%v", err)

	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	l = w.until(l.Address, "it runs", running)
	require.Eventually(t, func() bool { return strings.Contains(w.logs(a, l.Address, false), "up\n") }, time.Minute, 50*time.Millisecond)
	time.Sleep(2 * time.Second)
	first := w.receipt(a, l.Address)
	require.NotZero(t, first.Seconds)
	instruction, err := ix.LeaseEnd(ix.LeaseEndArgs{Authority: w.keys.Customers[0].Address(), Lease: l})
	w.send(w.keys.Customers[0], instruction, err)
	w.until(l.Address, "it ended", ended)
	w.untilStatus(a, l.Address, 10*time.Second, func(st messages.LeaseStatus) bool { return st.State == messages.LeaseStopped })
	require.Contains(t, w.logs(a, l.Address, true), "stopping")
	last := w.receipt(a, l.Address)
	require.Greater(t, last.Sequence, first.Sequence)
	require.GreaterOrEqual(t, last.Seconds, first.Seconds)
	w.until(l.Address, "it is paid", func(l market.Lease, ok bool) bool { return ok && uint64(l.PaidSecs) == last.Seconds })
}

// kill -9 at every state: the job goes on, and the next agent takes up where the last one was.
func TestKilledAtEveryState(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()
	file := filepath.Join(w.dir, "ticks")
	spec := job("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo $i >> " + file + "; echo tick $i; sleep 0.5; done")

	a.kill() // before the award
	l := w.order(a.node, spec, 600, true)
	a.start()
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	a.kill() // with the job received; perhaps while starting
	a.start()
	l = w.until(l.Address, "it runs", running)
	require.Eventually(t, func() bool { b, err := os.ReadFile(file); return err == nil && len(b) > 0 }, time.Minute, 20*time.Millisecond)
	a.kill() // while running
	before, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		after, err := os.ReadFile(file)
		return err == nil && len(after) > len(before)
	}, time.Minute, 20*time.Millisecond, "the job stopped with its agent")
	a.start()
	live, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.Len(t, live.Liveness.Leases, 1)
	require.Equal(t, messages.LeaseRunning, live.Liveness.Leases[0].State)
	r := w.receipt(a, l.Address)
	a.kill() // with a receipt signed by both and not settled
	time.Sleep(5 * time.Second)
	a.start() // the job is over by now
	l = w.until(l.Address, "it ended", ended)
	require.Equal(t, market.EndedJobDone, l.Reason())
	w.until(l.Address, "the receipt is settled", func(l market.Lease, ok bool) bool { return ok && l.ReceiptSequence >= r.Sequence })
	a.kill() // when ended
	a.start()
	last := w.receipt(a, l.Address)
	w.until(l.Address, "it is paid", func(l market.Lease, ok bool) bool { return ok && uint64(l.PaidSecs) == last.Seconds })
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", string(b), "the job ran once, and to its end")
}

// A keeper that comes back at another address is found again from the chain; one that restarts in place is dialled
// again.
func TestKeeperMoves(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	a.start()
	require.NoError(t, w.keeper.Close())
	w.keeper = w.network(w.keys.Keepers[0].Key)
	instruction, err := ix.KeeperUpdate(ix.KeeperUpdateArgs{Wallet: w.keys.Keepers[0].Address(), Multiaddr: w.keeper.Addrs()[0]})
	w.send(w.keys.Keepers[0], instruction, err)
	require.Eventually(t, func() bool { return w.keeper.Connected(a.key) }, time.Minute, 20*time.Millisecond)
	_, err = w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)

	at := w.keeper.Addrs()[0]
	require.NoError(t, w.keeper.Close())
	again, err := p2p.New(p2p.Options{Key: w.keys.Keepers[0].Key, Listen: []string{at[:strings.Index(at, "/p2p/")]}, Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	require.Eventually(t, func() bool { return again.Connected(a.key) }, time.Minute, 20*time.Millisecond)
}

// The node's RPC and WebSocket go away in the middle of a lease: the job goes on, keepers and customers are answered,
// and what could not be sent is sent afterwards.
func TestChainGoesAway(t *testing.T) {
	t.Parallel()
	w := newTestbed(t)
	a := w.newAgent(0)
	rpc, err := fault.StartRelay(t.Context(), strings.TrimPrefix(w.at.RPC, "http://"))
	require.NoError(t, err)
	t.Cleanup(rpc.Close)
	ws, err := fault.StartRelay(t.Context(), strings.TrimPrefix(w.at.WS, "ws://"))
	require.NoError(t, err)
	t.Cleanup(ws.Close)
	a.through = engine.Endpoint{RPC: "http://" + rpc.Addr(), WS: "ws://" + ws.Addr()}
	a.start()
	spec := job("sleep 2; echo done")
	l := w.order(a.node, spec, 600, true)
	require.Empty(t, w.deploy(a, l.Address, spec).Refused)
	w.until(l.Address, "it runs", running)
	w.untilStatus(a, l.Address, 10*time.Second, func(st messages.LeaseStatus) bool { return st.State == messages.LeaseRunning })
	rpc.Cut()
	ws.Cut()
	require.Equal(t, "done\n", w.logs(a, l.Address, true))
	live, err := w.ask(a, messages.CheckLiveness, nil)
	require.NoError(t, err)
	require.Len(t, live.Liveness.Leases, 1)
	time.Sleep(3 * time.Second)
	require.True(t, running(w.view.Lease(l.Address)), "nothing can be sent")
	require.NoError(t, rpc.Restore())
	require.NoError(t, ws.Restore())
	l = w.until(l.Address, "it ended", ended)
	require.Equal(t, market.EndedJobDone, l.Reason())
}
