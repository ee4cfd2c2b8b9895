package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/team"
)

// still are outputs that nobody writes: reading them lasts until the reader goes.
type still struct{ opened chan struct{} }

func (s still) Output(context.Context, solana.PublicKey) (Output, error) { return s, nil }

func (s still) Read(ctx context.Context, _ uint64, _ func(service.Output) error) (bool, error) {
	s.opened <- struct{}{}
	<-ctx.Done()
	return false, ctx.Err()
}

func (s still) Follow(ctx context.Context, _ uint64, _ func(service.Output) error) error {
	_, err := s.Read(ctx, 0, nil)
	return err
}

func (still) Close() {}

// crowd is a server of a team with outputs that never end, and who asks for them.
func crowd(t *testing.T) (ask func(token, query string) int, token func(member string, role team.Role) string, own string) {
	t.Helper()
	teams, err := team.Open(t.TempDir())
	require.NoError(t, err)
	by := team.Caller{Member: team.MemberServer, Token: team.TokenCommand, Role: team.Owner}
	_, err = teams.AddBudget(by, "ops")
	require.NoError(t, err)
	out := still{make(chan struct{}, 100)}
	s := New(Options{Store: testStore(t), Team: teams, Outputs: out, Log: zerolog.Nop()})
	own, err = s.o.Store.NewToken()
	require.NoError(t, err)
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	ask = func(token, query string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL+"/v1/leases/"+solana.PublicKey{7}.String()+"/logs"+query, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", "Bearer "+token)
		code := make(chan int, 1)
		go func() {
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				return
			}
			code <- res.StatusCode
			<-ctx.Done()
			_ = res.Body.Close()
		}()
		select {
		case <-out.opened:
			return http.StatusOK
		case got := <-code:
			if got == http.StatusOK {
				<-out.opened
			}
			return got
		case <-time.After(time.Minute):
			t.Fatal("no answer")
			return 0
		}
	}
	return ask, func(member string, role team.Role) string {
		m := team.Member{Name: member, Role: role}
		if role == team.Deployer {
			m.Budget = "ops"
		}
		require.NoError(t, teams.PutMember(by, m))
		_, text, err := teams.AddToken(by, team.MemberToken{Name: member + "-ci", Member: member}, time.Hour)
		require.NoError(t, err)
		return text
	}, own
}

// A token of a team has four streams, viewers together half of all; who may deploy, and the owner, find the others.
func TestViewersLeaveStreamsForOthers(t *testing.T) {
	for name, query := range map[string]string{"streams": "?follow=true", "reads": ""} {
		t.Run(name, func(t *testing.T) {
			ask, token, own := crowd(t)
			count := func(token string, tries int) (n int) {
				for range tries {
					switch code := ask(token, query); code {
					case http.StatusOK:
						n++
					default:
						require.Equal(t, http.StatusServiceUnavailable, code)
					}
				}
				return n
			}
			require.Equal(t, 4, count(token("vic", team.Viewer), 20))
			require.Equal(t, 4, count(token("val", team.Viewer), 20))
			require.Zero(t, count(token("vin", team.Viewer), 20))
			require.Equal(t, 4, count(token("dan", team.Deployer), 20))
			require.Equal(t, 4, count(own, 20), "the owner has what there is")
		})
	}
}

// Reading output that is answered at once takes no stream, and streams take none of these reads.
func TestReadsAndStreamsHaveTheirOwnPlaces(t *testing.T) {
	ask, _, own := crowd(t)
	for range maxStreams {
		require.Equal(t, http.StatusOK, ask(own, ""))
	}
	require.Equal(t, http.StatusServiceUnavailable, ask(own, ""))
	for range maxStreams {
		require.Equal(t, http.StatusOK, ask(own, "?follow=true"))
	}
	require.Equal(t, http.StatusServiceUnavailable, ask(own, "?follow=true"))
}
