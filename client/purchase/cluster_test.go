package purchase

import (
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/sdk/messages"
)

// The machines of a cluster have their places in the order in which they were added. A purchase that came to nothing leaves none, and what is
// not awarded yet is no member.
func TestAClusterOfSeveralOrders(t *testing.T) {
	key := func(n byte) solana.PublicKey { return solana.PublicKey{n} }
	members := func(leases ...byte) (out []messages.GroupMember) {
		for _, l := range leases {
			out = append(out, messages.GroupMember{Lease: key(l)})
		}
		return out
	}
	first := Purchase{Order: key(1), Stage: Handed, Group: members(11, 12)}
	nothing := Purchase{Order: key(2), Joins: key(1), First: 2, Stage: Over}
	second := Purchase{Order: key(3), Joins: key(1), First: 2, Stage: Handed, Group: members(13), Created: time.Unix(1, 0)}
	third := Purchase{Order: key(4), Joins: key(1), First: 3, Stage: Over, Group: members(14)}
	waits := Purchase{Order: key(5), Joins: key(1), First: 4, Stage: Placed}
	stranger := Purchase{Order: key(6), Stage: Handed, Group: members(16, 17)}
	all := []Purchase{waits, third, stranger, nothing, second, first}
	for _, order := range []byte{1, 3, 4, 5} {
		got := Cluster(all, key(order))
		require.Equal(t, []Purchase{first, second, third, waits}, got, "by order %d", order)
		require.Equal(t, members(11, 12, 13, 14), Members(got))
	}
	require.Equal(t, []Purchase{stranger}, Cluster(all, key(6)))
	require.Empty(t, Cluster(all, key(9)))

	second.Group = nil // a later one cannot have places before it
	require.Equal(t, members(11, 12), Members([]Purchase{first, second, third}))
}
