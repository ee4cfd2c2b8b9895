package fleet

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSpec(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fleet.json")
	good := Spec{RPC: "http://127.0.0.1:1", WS: "ws://127.0.0.1:2", Agent: "/a", Members: []Member{
		{Name: "one", Inventory: "simulated:A100:1"}, {Name: "two", Inventory: "simulated:H100:8"},
	}}
	require.NoError(t, good.Write(path))
	got, err := Read(path)
	require.NoError(t, err)
	require.Equal(t, good, got)

	for name, members := range map[string][]Member{
		"nobody":    nil,
		"no name":   {{Inventory: "simulated:A100:1"}},
		"same name": {good.Members[0], good.Members[0]},
		"real GPUs": {{Name: "one", Inventory: "nvml"}},
		"no such":   {{Name: "one", Inventory: "simulated:B9000:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			bad := good
			bad.Members = members
			require.NoError(t, bad.Write(path))
			_, err := Read(path)
			require.ErrorIs(t, err, ErrSpec)
		})
	}
	_, err = Read(path + ".none")
	require.ErrorIs(t, err, ErrSpec)
}
