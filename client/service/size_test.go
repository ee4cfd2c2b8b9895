package service

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizesAreRead(t *testing.T) {
	for text, mib := range map[string]uint64{
		"16g": 16384, "16G": 16384, "16GB": 16384, "16GiB": 16384, "1.5g": 1536, "512m": 512, "64mib": 64, "1t": 1 << 20, "0": 0, "1b": 1, "1048576": 1, "1048577": 2,
		"67108864b": 64, "1024k": 1,
	} {
		var s Size
		require.NoError(t, s.Set(text), text)
		require.Equal(t, mib, s.MiB(), text)
	}
	for _, text := range []string{"", "g", "-1g", "16x", "16gg", "16gig", "1e400g", "NaN", "Inf", "18446744073709551615t", "1 g", "1", "512"} { // bytes, which nobody means
		var s Size
		require.Error(t, s.Set(text), text)
	}
}
