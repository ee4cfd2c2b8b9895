package image

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// The node's own address would open to customers what is closed to strangers. Names and redirects are no way around.
func TestHostileAddresses(t *testing.T) {
	public, local := &Store{}, &Store{o: Options{LocalRegistries: true}}
	for address, want := range map[string][2]bool{ // whether it is visited, and whether where local ones are
		"93.184.215.14:443": {true, true}, "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]:443": {true, true},
		"127.0.0.1:80": {false, true}, "[::1]:80": {false, true}, "10.1.2.3:443": {false, true}, "172.31.0.1:443": {false, true},
		"192.168.1.1:443": {false, true}, "100.64.0.1:443": {false, true}, "[fd12::1]:443": {false, true}, "[::ffff:10.0.0.1]:443": {false, true},
		"169.254.169.254:80": {}, "[::ffff:169.254.169.254]:80": {}, "[fe80::1%eth0]:80": {}, "[fd00:ec2::254]:80": {}, "100.100.100.200:80": {},
		"0.0.0.0:80": {}, "[::]:80": {}, "224.0.0.1:80": {}, "255.255.255.255:80": {}, "168.63.129.16:80": {},
		"[64:ff9b::a9fe:a9fe]:80": {}, "[64:ff9b::6464:64c8]:80": {}, "[64:ff9b::a83f:8110]:80": {}, "[64:ff9b::a9fe:a9fe%eth0]:80": {},
		"[64:ff9b::a01:203]:443": {false, true}, "[64:ff9b::5db8:d70e]:443": {false, true},
		"[64:ff9b:1:a9fe:a9:fe00::]:80": {}, "[64:ff9b:1::a9fe:a9fe]:80": {}, "[64:ff9b:1::a01:203]:443": {},
		"[2002:a9fe:a9fe::1]:80": {}, "[2002:a83f:8110::1]:80": {}, "[2002:a01:203::1]:443": {false, true}, "not an address": {},
	} {
		for i, s := range []*Store{public, local} {
			if err := visits(address, s.o.LocalRegistries); want[i] {
				require.NoError(t, err, address)
			} else {
				require.ErrorIs(t, err, ErrAddress, address)
			}
		}
	}

	img := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "x")))
	metadata := "http://169.254.169.254/latest/meta-data/"
	to := func(part string, answer http.HandlerFunc) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet && strings.Contains(r.URL.Path, part) {
					answer(w, r)
					return
				}
				next.ServeHTTP(w, r)
			})
		}
	}
	redirect := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, metadata, http.StatusTemporaryRedirect)
	}
	t.Run("a name that leads here", func(t *testing.T) {
		s := newStore(t)
		s.o.LocalRegistries = false
		_, digested := imagetest.Start(t, nil).Push(t, "team/job", img)
		for _, host := range []string{"127.0.0.1", "localhost"} {
			_, err := fetch(t, s, parsed(t, strings.Replace(digested, "127.0.0.1", host, 1)), 1<<20)
			require.ErrorIs(t, err, ErrAddress, host)
		}
	})
	for name, part := range map[string]string{"a redirected layer": "/blobs/", "a redirected manifest": "/manifests/"} {
		t.Run(name, func(t *testing.T) {
			_, digested := imagetest.Start(t, to(part, redirect)).Push(t, "team/job", img)
			_, err := fetch(t, newStore(t), parsed(t, digested), 1<<20)
			notVisited(t, err)
		})
	}
	t.Run("a realm", func(t *testing.T) {
		r := served(t, "amd64", imagetest.Layer(t, imagetest.File("bin/job", "x")))
		closed := imagetest.Start(t, func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("WWW-Authenticate", `Bearer realm="`+metadata+`",service="x"`)
				w.WriteHeader(http.StatusUnauthorized)
			})
		})
		_, err := fetch(t, newStore(t), parsed(t, closed.Host+r.String()[strings.Index(r.String(), "/"):]), 1<<20)
		notVisited(t, err)
	})
}

// notVisited: the address was refused, by the store or, before that, by the library that speaks to registries.
func notVisited(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	require.NotErrorIs(t, err, context.DeadlineExceeded)
	if !errors.Is(err, ErrAddress) {
		require.ErrorContains(t, err, "private")
	}
}

// A registry that sends nothing is given up, and keeps nobody else waiting meanwhile, not even for the same layer.
func TestHostileRegistriesThatStall(t *testing.T) {
	s := newStore(t)
	img := imagetest.Image(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("bin/job", "x")))
	layers, err := img.Layers()
	require.NoError(t, err)
	digest, err := layers[0].Digest()
	require.NoError(t, err)
	stalled, over := make(chan struct{}, 10), make(chan struct{})
	slow := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, digest.String()) {
				w.Header().Set("Content-Length", "1000000")
				w.WriteHeader(http.StatusOK)
				w.(http.Flusher).Flush()
				stalled <- struct{}{}
				<-over
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	defer close(over)
	_, digested := slow.Push(t, "team/job", img)
	hostile := parsed(t, digested)
	done := make(chan error, 1)
	go func() {
		_, err := s.Pull(t.Context(), hostile, PullOptions{Limit: 1 << 20})
		done <- err
	}()
	<-stalled
	_, digested = imagetest.Start(t, nil).Push(t, "team/job", img)
	_, err = fetch(t, s, parsed(t, digested), 1<<20)
	require.NoError(t, err)
	require.Empty(t, done, "the slow one is still at it")

	never := imagetest.Start(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-over
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s.o.stall = 100 * time.Millisecond
	r := hostile.String()
	_, err = fetch(t, s, parsed(t, never.Host+r[strings.Index(r, "/"):]), 1<<20)
	require.ErrorIs(t, err, ErrUnusable)
	require.ErrorContains(t, err, "timeout")
}

// Only a blob may be as large as a layer: messages and tokens are read into memory.
func TestOnlyBlobsAreLarge(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxDocument+1)
	mux := http.NewServeMux()
	mux.HandleFunc("/v2/app/blobs/good", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) })
	mux.HandleFunc("/v2/app/blobs/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/store?signed=yes", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/store", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(long) })
	mux.HandleFunc("/v2/app/blobs/bad", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(long)
	})
	site := httptest.NewServer(mux)
	t.Cleanup(site.Close)
	s := &Store{o: Options{LocalRegistries: true}}
	v := s.visitor()
	v.max.Store(1 << 30)
	client := &http.Client{Transport: v}
	for path, large := range map[string]bool{
		"/v2/app/blobs/good": true, "/v2/app/blobs/moved": true, "/v2/app/blobs/bad": false, "/v2/app/blobs/good?scope=repository:app:pull": false, "/store?scope=x": false,
	} {
		answer, err := client.Get(site.URL + path)
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, answer.Body)
		require.NoError(t, answer.Body.Close())
		if large {
			require.NoError(t, err, path)
		} else {
			require.ErrorIs(t, err, ErrTooLarge, path)
		}
	}
}
