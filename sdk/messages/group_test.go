package messages

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAGroupNamesEachLeaseOnce(t *testing.T) {
	a, b := [32]byte{1}, [32]byte{2}
	group := func(index uint8, leases ...[32]byte) Group {
		g := Group{Index: index}
		for _, l := range leases {
			g.Members = append(g.Members, GroupMember{Lease: l})
		}
		return g
	}
	many := make([][32]byte, MaxGroup+1)
	for i := range many {
		many[i] = [32]byte{byte(i), 1}
	}
	require.True(t, group(1, a, b).Valid(b))
	require.True(t, group(0, many[:MaxGroup]...).Valid(many[0]))
	for name, g := range map[string]Group{
		"empty":              {},
		"another place":      group(0, a, b),
		"no such place":      group(2, a, b),
		"a lease twice":      group(1, b, b),
		"not a member":       group(0, a),
		"too many":           group(0, many...),
		"the last is no one": group(255, a, b),
	} {
		require.False(t, g.Valid(b), name)
	}
}
