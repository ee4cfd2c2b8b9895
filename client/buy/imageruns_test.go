package buy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/purchase"
	"github.com/gantry-market/gantry/sdk/market"
	"github.com/gantry-market/gantry/sdk/records"
)

// Machines learn a digest by a question: nothing is asked of an image of which they keep no record.
func TestImagesThatNobodyIsAskedAbout(t *testing.T) {
	const image = "debian@sha256:00"
	require.True(t, mayBeKnown(&purchase.Purchase{}, image))
	for name, p := range map[string]purchase.Purchase{
		"unrecorded": {Unrecorded: true}, "sealed": {Attest: "{}"}, "a token may go to the machine": {Registry: sendToken}, "a password may": {Registry: sendPassword},
	} {
		require.False(t, mayBeKnown(&p, image), name)
	}
	require.False(t, mayBeKnown(&purchase.Purchase{}, ""), "a command without a container")
}

func TestTheDigestOfAnOrderedImage(t *testing.T) {
	digest, err := orderedDigest("registry.example/x@sha256:00ff000000000000000000000000000000000000000000000000000000000001")
	require.NoError(t, err)
	require.Equal(t, records.Hash{1: 0xff, 31: 1}, digest)
	for _, wrong := range []string{"registry.example/x:tag", "x@sha256:00", "x@sha512:" + "00"} {
		_, err = orderedDigest(wrong)
		require.Error(t, err, wrong)
	}
}

// The machines that are asked are those that would be awarded first.
func TestTheBestMachinesAreAsked(t *testing.T) {
	f := fitting{models: make([]market.Model, 1)}
	for _, price := range []uint64{3, 1, 2} {
		var n market.Node
		n.Price = price * 1_000_000
		n.Spec.Gpus = 1
		f.nodes = append(f.nodes, n)
	}
	var asks []string
	for _, o := range f.best(2) {
		asks = append(asks, o.Price)
	}
	require.Equal(t, []string{"1.00", "2.00"}, asks)
}
