package runtime

import (
	"bufio"
	"net"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// A customer may leave while the command still has something to say: that is the end of the stream, and no fault.
func TestACustomerLeavesInTheMiddleOfASentence(t *testing.T) {
	node, customer := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- converse(t.Context(), exec.Command("/bin/sh", "-c", "echo one; cat >/dev/null; echo two; echo three"), []byte("setup\n"), node)
	}()
	said, err := bufio.NewReader(customer).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "one\n", said)
	require.NoError(t, customer.Close()) // its input ends with it, and it says more
	require.NoError(t, <-ended)
}
