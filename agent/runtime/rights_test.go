package runtime

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutRights is set in a test that runs itself again with fewer rights.
const withoutRights = "GANTRY_TEST_WITHOUT_RIGHTS"

// Root in a container without the right to mount hears why it has no volumes. Linux, root, setpriv.
func TestVolumesWithoutTheRightToMount(t *testing.T) {
	if os.Getenv(withoutRights) != "" {
		err := CheckVolumes()
		require.ErrorIs(t, err, ErrVolume)
		require.ErrorIs(t, err, os.ErrPermission)
		return
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil || CheckVolumes() != nil {
		t.Skip("SKIPPED: setpriv (util-linux) takes rights away, where there can be volumes")
	}
	again := exec.CommandContext(t.Context(), setpriv, "--bounding-set=-sys_admin", os.Args[0], "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), withoutRights+"=1")
	out, err := again.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
