package s3server

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// Requests are seen first by what was put around the server, which judges their signatures all the same.
func TestServer(t *testing.T) {
	var seen atomic.Int64
	s, err := Start(t.Context(), func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen.Add(1)
			next.ServeHTTP(w, r)
		})
	})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, s.Put(t.Context(), "a/b", []byte("content")))
	require.Zero(t, seen.Load(), "the test's own requests are not among them")
	put := func(secret, name string) error {
		c, err := minio.New(strings.TrimPrefix(s.URL, "http://"), &minio.Options{Creds: credentials.NewStaticV4(AccessKey, secret, ""), Region: "us-east-1", MaxRetries: 1})
		require.NoError(t, err)
		_, err = c.PutObject(t.Context(), Bucket, name, strings.NewReader("other"), 5, minio.PutObjectOptions{})
		return err
	}
	require.NoError(t, put(SecretKey, "c"))
	require.Positive(t, seen.Load())
	require.Error(t, put("wrong", "d"))
	all, err := s.Objects(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string][]byte{"a/b": []byte("content"), "c": []byte("other")}, all)

	// What it has later is as old by its clock.
	require.NoError(t, s.Advance(48*time.Hour))
	require.NoError(t, s.Put(t.Context(), "later", nil))
	found, err := s.client.StatObject(t.Context(), Bucket, "later", minio.StatObjectOptions{})
	require.NoError(t, err)
	require.Greater(t, time.Until(found.LastModified), 47*time.Hour)
}
