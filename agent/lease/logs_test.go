package lease

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/syncbuf"
	"github.com/gantry-market/gantry/sdk/messages"
)

// Customers put secrets into commands and environments: whoever reads the agent's log sees neither.
func TestCommandsAndSecretsAreNotLogged(t *testing.T) {
	var log syncbuf.Buffer
	m, chain, rt, _ := newTestManager(t)
	m.log = zerolog.New(&log)
	m.o.Now = time.Now
	var turns atomic.Int64
	m.o.Turn = func() { turns.Add(1) }
	chain.clock, rt.clock = &clock{t: time.Now()}, &clock{t: time.Now()}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	<-m.Ready()
	job := messages.JobSpec{Version: messages.Version, Command: []string{"train", "--token", "hunter2"}, Env: map[string]string{"TOKEN": "hunter3"}}
	chain.award(job, true, time.Hour, true)
	require.Eventually(t, m.Live, time.Minute, time.Millisecond)
	_, err := m.Deploy(t.Context(), testCustomer, deployRequest(job))
	require.NoError(t, err)
	require.Eventually(t, func() bool { all := m.Statuses(); return len(all) == 1 && all[0].State == messages.LeaseRunning }, time.Minute, 5*time.Millisecond)
	at := turns.Load()
	require.Eventually(t, func() bool { return turns.Load() > at }, time.Minute, 5*time.Millisecond, "a watchdog sees the loop, also when nothing happens")
	cancel()
	<-done
	require.Contains(t, log.String(), "job received")
	require.Contains(t, log.String(), "job started")
	for _, secret := range []string{"hunter", "--token", "TOKEN"} {
		require.NotContains(t, log.String(), secret)
	}
}
