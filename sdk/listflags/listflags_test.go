package listflags_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/urfave/cli/v2"

	"github.com/gantry-market/gantry/sdk/chain"
	"github.com/gantry-market/gantry/sdk/listflags"
)

func TestTheBoundOfLists(t *testing.T) {
	read := func(args ...string) (b chain.Bound, err error) {
		app := cli.App{Name: "test", Flags: []cli.Flag{listflags.Flag()}, Action: func(c *cli.Context) error {
			b, err = listflags.Read(c)
			return nil
		}}
		require.NoError(t, app.Run(append([]string{"test"}, args...)))
		return b, err
	}
	b, err := read()
	require.NoError(t, err)
	require.Zero(t, b, "the default counts")
	b, err = read("--max-list-mib", "4096")
	require.NoError(t, err)
	require.Equal(t, chain.Bound{Bytes: 4 << 30, Accounts: 32 << 20}, b)
	for _, wrong := range []string{"-1", "99999999999"} {
		_, err = read("--max-list-mib=" + wrong)
		require.ErrorIs(t, err, listflags.ErrBound)
	}
}
