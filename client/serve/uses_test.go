package serve

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// Of what a lease uses one sample in ten seconds is kept, for an hour.
func TestUseOfTheLastHour(t *testing.T) {
	var u uses
	lease := solana.PublicKey{1}
	start := time.Unix(1_800_000_000, 0).UTC()
	for s := range 2 * 3600 {
		if s%2 == 0 {
			u.note(lease, service.Use{CPUs: float64(s), Measured: start.Add(time.Duration(s) * time.Second)})
		}
	}
	p := u.past(lease)
	require.Equal(t, 10, p.EverySeconds)
	require.InDelta(t, 3600/8, len(p.Samples), 2)
	require.LessOrEqual(t, p.Samples[len(p.Samples)-1].Measured.Sub(p.Samples[0].Measured), time.Hour)
	for i, x := range p.Samples[1:] {
		require.GreaterOrEqual(t, x.Measured.Sub(p.Samples[i].Measured), 8*time.Second)
	}
	require.Empty(t, u.past(solana.PublicKey{2}).Samples)
	u.forget(func(solana.PublicKey) bool { return false })
	require.Empty(t, u.past(lease).Samples)
}

// gauges is a machine that says once what leases use, and notes who has asked.
type gauges struct {
	Machines
	asked chan solana.PublicKey
}

func (g gauges) Use(ctx context.Context, lease solana.PublicKey, every time.Duration, take func(service.Use) error) error {
	if every != useApart {
		return errors.New("another time between samples")
	}
	if err := take(service.Use{CPUs: 2, Measured: time.Unix(1_800_000_000, 0)}); err != nil {
		return err
	}
	g.asked <- lease
	<-ctx.Done()
	return ctx.Err()
}

// Running leases are followed, each once, until they are over.
func TestRunningLeasesAreFollowed(t *testing.T) {
	one, two := solana.PublicKey{1}, solana.PublicKey{2}
	g := gauges{asked: make(chan solana.PublicKey, 9)}
	s := New(Options{Store: testStore(t), Machines: g, Log: zerolog.Nop()})
	f := &follower{s: s, known: map[solana.PublicKey]*following{}, use: g.Use}
	ctx, cancel := context.WithCancel(t.Context())
	lease := func(key solana.PublicKey, status string) service.Lease {
		return service.Lease{Address: key.String(), Status: status}
	}
	f.follow(ctx, []service.Lease{lease(one, "running"), lease(two, "awarded")})
	require.Equal(t, one, <-g.asked)
	f.follow(ctx, []service.Lease{lease(one, "running"), lease(two, "running")})
	require.Equal(t, two, <-g.asked)
	require.Len(t, s.uses.past(one).Samples, 1)
	f.follow(ctx, []service.Lease{lease(one, "ended"), lease(two, "running")})
	require.Empty(t, s.uses.past(one).Samples, "it is over")
	require.Len(t, s.uses.past(two).Samples, 1)
	require.Len(t, f.known, 1)
	cancel()
	f.wg.Wait()
	require.Empty(t, g.asked)
}

// The stream of a lease begins with what the server has kept of it.
func TestTheStreamOfUseBeginsWithThePast(t *testing.T) {
	url, token := machines(t)
	status, raw := fetch(t, url+leasesPath+solana.PublicKey{1}.String()+"/use", token)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, string(raw), "event: past\ndata: {\"everySeconds\":10,\"samples\":[]}")
	_, raw = fetch(t, url+leasesPath+solana.PublicKey{1}.String()+"/use", token)
	require.Contains(t, string(raw), "event: past\ndata: {\"everySeconds\":10,\"samples\":[{")
	require.Less(t, strings.Index(string(raw), "event: past"), strings.Index(string(raw), "event: use"))
}
