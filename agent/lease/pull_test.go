package lease

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/agent/image"
	"github.com/gantry-market/gantry/agent/runtime"
	"github.com/gantry-market/gantry/internal/testkit/badjobs"
	"github.com/gantry-market/gantry/sdk/messages"
)

// A lease's customer sees how far the image is and why it does not come. Others see neither, and keepers are not told.
func TestTheCustomerSeesHowFarTheImageIs(t *testing.T) {
	m, chain, rt, _ := newTestManager(t)
	begun, next := make(chan struct{}), make(chan error)
	rt.prepare = func(ctx context.Context, _ image.Credential) error {
		select {
		case begun <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case err := <-next:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	chain.award(badjobs.Good(), false, time.Hour, true)
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(badjobs.Good()))
	require.NoError(t, err)
	asked := func() *messages.ImagePull {
		st, err := m.Status(t.Context(), testCustomer, testLease)
		require.NoError(t, err)
		return st.Image
	}
	require.Nil(t, asked(), "nothing is fetched yet")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	<-begun
	rt.mu.Lock()
	report := rt.report
	rt.mu.Unlock()
	report(image.Progress{Phase: image.Fetching, Total: 100, Done: 40, Unpacked: 30, Rate: 7, Layers: 3, LayersDone: 1, Still: 2500 * time.Millisecond})
	require.Equal(t, &messages.ImagePull{Phase: messages.ImageFetching, Total: 100, Done: 40, Unpacked: 30, Rate: 7, Layers: 3, LayersDone: 1, StillSecs: 2}, asked())
	_, err = m.Status(t.Context(), solana.PublicKey{99}, testLease)
	require.ErrorContains(t, err, "of another customer")
	for _, st := range m.Statuses() {
		require.Nil(t, st.Image)
	}

	next <- errors.Join(runtime.ErrPull, errors.New("layer \x1b[2J is not there"))
	<-begun
	failed := asked()
	require.Equal(t, messages.ImageFailed, failed.Phase)
	require.Equal(t, uint64(40), failed.Done)
	require.Contains(t, failed.Why, `layer \u001b[2J is not there`)
	require.NoError(t, messages.Check(messages.LeaseAnswer{Status: messages.LeaseStatus{Image: failed}}))
	rt.mu.Lock()
	report = rt.report
	rt.mu.Unlock()
	report(image.Progress{Phase: image.Ready, Total: 100, Done: 100, Unpacked: 100, Layers: 3, LayersDone: 3})
	next <- nil
	require.Eventually(t, rt.active, time.Minute, time.Millisecond)
	require.Equal(t, &messages.ImagePull{Phase: messages.ImageReady, Total: 100, Done: 100, Unpacked: 100, Layers: 3, LayersDone: 3}, asked())
}
