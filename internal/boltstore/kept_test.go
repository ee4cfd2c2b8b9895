package boltstore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A file without the value opens, and one with it opens too.
func TestKeptSurvivesRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	c := Config{Name: "x", Schema: 1, Owner: []byte("me"), DescribeOwner: func(b []byte) string { return string(b) }, NoSync: true}
	for _, want := range []string{"", "one", "two"} {
		db, err := Open(path, c)
		require.NoError(t, err)
		got, err := db.Kept("notices").Load()
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		next := map[string]string{"": "one", "one": "two", "two": "three"}[want]
		require.NoError(t, db.Kept("notices").Save([]byte(next)))
		require.NoError(t, db.Close())
	}
}
