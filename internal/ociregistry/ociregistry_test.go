package ociregistry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"
)

func child(digest, platform string) v1.Descriptor {
	d := v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: v1.Hash{Algorithm: "sha256", Hex: digest}}
	if platform != "" {
		p, err := v1.ParsePlatform(platform)
		if err != nil {
			panic(err)
		}
		d.Platform = p
	}
	return d
}

// Commands and machines choose by one rule: never what a processor lacks, and one without a platform only if there is no other.
func TestTheImageOfAList(t *testing.T) {
	all := []v1.Descriptor{
		child("v4", "linux/amd64/v4"), child("arm", "linux/arm64"), child("v3", "linux/amd64/v3"), child("base", "linux/amd64"), child("second", "linux/amd64"),
		child("attestation", "unknown/unknown"), child("windows", "windows/amd64"), child("v9", "linux/amd64/v9"),
	}
	for level, want := range map[int]string{1: "base", 2: "base", 3: "v3", 4: "v4"} {
		got, ok := Choose(all, level)
		require.True(t, ok)
		require.Equal(t, want, got.Digest.Hex, level)
	}
	any, ok := ChooseForAny(all)
	require.True(t, ok)
	require.Equal(t, "base", any.Digest.Hex)

	for name, c := range map[string]struct {
		list []v1.Descriptor
		want string
	}{
		"one without a platform":                {[]v1.Descriptor{child("only", "")}, "only"},
		"beside an attestation":                 {[]v1.Descriptor{child("attestation", "unknown/unknown"), child("only", "")}, "only"},
		"beside one that has":                   {[]v1.Descriptor{child("none", ""), child("base", "linux/amd64/v1")}, "base"},
		"only for newer ones":                   {[]v1.Descriptor{child("v4", "linux/amd64/v4"), child("v2", "linux/amd64/v2")}, "v2"},
		"beside newer ones, without a platform": {[]v1.Descriptor{child("none", ""), child("v3", "linux/amd64/v3")}, "v3"},
		"another architecture":                  {[]v1.Descriptor{child("arm", "linux/arm64/v8")}, ""},
		"a list in a list":                      {[]v1.Descriptor{{MediaType: types.OCIImageIndex}}, ""},
		"nothing":                               {nil, ""},
	} {
		got, ok := ChooseForAny(c.list)
		require.Equal(t, c.want != "", ok, name)
		if ok {
			require.Equal(t, c.want, got.Digest.Hex, name)
		}
	}
}

// A registry that is asked too often is asked again after the time that it names, and no longer than there is time.
func TestARegistryThatAsksToWait(t *testing.T) {
	var asked, refusals atomic.Int32
	after := "1"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) <= refusals.Load() {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	defer s.Close()
	get := func(ctx context.Context, most time.Duration) (int, time.Duration, error) {
		asked.Store(0)
		began := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		answer, err := Patient{Next: http.DefaultTransport, Most: most}.RoundTrip(r)
		if err != nil {
			return 0, time.Since(began), err
		}
		answer.Body.Close()
		return answer.StatusCode, time.Since(began), nil
	}
	refusals.Store(1)
	code, took, err := get(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code)
	require.GreaterOrEqual(t, took, time.Second)
	after = time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	code, _, err = get(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, code, "a date that is over")
	refusals.Store(1 << 20)
	code, _, err = get(t.Context(), 3*time.Second)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, code, "again and again without a wait")
	require.EqualValues(t, 4, asked.Load())
	after = "3600"
	code, _, err = get(t.Context(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, http.StatusTooManyRequests, code)
	require.EqualValues(t, 1, asked.Load(), "there is not as much time")
	after = "30"
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, took, err = get(ctx, time.Minute)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, took, 20*time.Second)
}
