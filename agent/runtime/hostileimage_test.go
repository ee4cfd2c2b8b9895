package runtime

import (
	"archive/tar"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/imagetest"
)

// jobBinary is the program of testdata/job.
func jobBinary(t testing.TB) string {
	t.Helper()
	binary, err := builtJob()
	require.NoError(t, err)
	return binary
}

// builtJob builds the program of the containers once for all tests.
var builtJob = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "gantry-job-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, "job")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", built, "./testdata/job")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	binary, err := os.ReadFile(built)
	return string(binary), err
})

// Images say how they want to be run. What they say reaches the job, and neither the machine nor what the node sets.
func TestHostileConfigurations(t *testing.T) {
	p, _ := containers(t)
	job := imagetest.File("bin/job", jobBinary(t))
	passwd := func(e imagetest.Entry) []imagetest.Entry { return []imagetest.Entry{job, e} }
	link := func(name, to string) imagetest.Entry {
		return imagetest.Entry{Header: tar.Header{Name: name, Linkname: to, Typeflag: tar.TypeSymlink}}
	}
	entry := []string{"/bin/job"}
	for name, c := range map[string]struct {
		config  v1.Config
		files   []imagetest.Entry
		command []string
		want    string // of the output, or of why it did not start
		not     string
	}{
		"variables with zero bytes": {v1.Config{Entrypoint: entry, Env: []string{"A=x\x00LD_PRELOAD=/evil.so", "B\x00GANTRY_LEASE=other", "=", "C", "D=\x1b[2J\n"}}, passwd(job), []string{"environ"}, "pair \"D=\\x1b[2J\\n\"", "evil"},
		"variables of the node":     {v1.Config{Entrypoint: entry, Env: []string{"GANTRY_LEASE=other", "NVIDIA_VISIBLE_DEVICES=all", "LD_AUDIT=/evil.so"}}, passwd(job), []string{"environ"}, "NVIDIA_VISIBLE_DEVICES=void", "other"},
		"a folder that climbs":      {v1.Config{Entrypoint: entry, WorkingDir: "../../../../../../etc"}, passwd(job), []string{"list=."}, "", "shadow"},
		"a folder by a link":        {v1.Config{Entrypoint: entry, WorkingDir: "/out"}, passwd(link("out", "../../../../../../../../etc")), []string{"list=."}, "", "shadow"},
		"no program":                {v1.Config{Entrypoint: []string{"/bin/none"}}, passwd(job), []string{"who"}, "", "who"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, digested := imagetest.Serve(t, "amd64", c.config, imagetest.Layer(t, c.files...))
			st, out := ran(t, p, Spec{LeaseID: strings.ReplaceAll(name, " ", "-"), Image: digested, Command: c.command, Limits: Limits{Wall: 2 * time.Minute}})
			require.Contains(t, out+st.Exit.Message, c.want, fmt.Sprint(st.Exit))
			require.NotContains(t, out, c.not)
			require.NotEqual(t, ReasonWall, st.Exit.Reason)
		})
	}
}

// What no container can be is refused before anything of it is started.
func TestHostileConfigurationsAreRefusedBeforeTheStart(t *testing.T) {
	p, _ := containers(t)
	for want, config := range map[string]v1.Config{
		"the image's user": {Entrypoint: []string{"/bin/job"}, User: "0:0\nroot"},
		"a zero byte":      {Entrypoint: []string{"/bin/job\x00/bin/other"}},
	} {
		_, digested := imagetest.Serve(t, "amd64", config, imagetest.Layer(t, imagetest.File("bin/job", jobBinary(t))))
		_, err := p.Start(background(t), Spec{LeaseID: "l", Image: digested, Command: []string{"who"}})
		require.ErrorIs(t, err, ErrSpec)
		require.ErrorContains(t, err, want)
		_, err = p.Status(background(t), "l")
		require.ErrorIs(t, err, ErrNotFound)
		removeJob(t, p, "l")
	}
}

// A job whose user the image's layers lack ends when it starts, and says so, whatever their lists of users are. Numbers need
// no list.
func TestUsersThatTheLayersLackAreSaid(t *testing.T) {
	p, _ := containers(t)
	job, users, groups := imagetest.File("bin/job", jobBinary(t)), imagetest.File("etc/passwd", "ml:x:1000:1000::/home/ml:/bin/sh\n"), imagetest.File("etc/group", "ml:x:1000:\n")
	outside := imagetest.Entry{Header: tar.Header{Name: "etc/passwd", Linkname: "../../../../../../../../../etc/passwd", Typeflag: tar.TypeSymlink}}
	for name, c := range map[string]struct {
		user string
		more []imagetest.Entry
		want string
	}{
		"no lists":              {"jovyan", nil, `the image's user "jovyan" cannot run the job: it is not in the image's /etc/passwd; name its number`},
		"other users":           {"jovyan", []imagetest.Entry{users, groups}, `user "jovyan" cannot run the job: it is not in the image's /etc/passwd`},
		"another group":         {"ml:staff", []imagetest.Entry{users, groups}, `user "ml:staff" cannot run the job: it is not in the image's /etc/group`},
		"a group and a number":  {"1000:staff", nil, "it is not in the image's /etc/group"},
		"a user of the machine": {"daemon", []imagetest.Entry{outside}, "user \"daemon\" cannot run the job: too many links"},
		"a folder of users":     {"ml", []imagetest.Entry{folder("etc/passwd")}, "etc/passwd of the image is not a file"},
		"too many users":        {"ml", []imagetest.Entry{imagetest.File("etc/passwd", strings.Repeat("a:x:1:1::/:/\n", 1<<20))}, "etc/passwd of the image is not a file, or larger"},
	} {
		t.Run(name, func(t *testing.T) {
			_, digested := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{"/bin/job"}, User: c.user}, imagetest.Layer(t, append(c.more, job)...))
			st, out := ran(t, p, Spec{LeaseID: "l", Image: digested, Command: []string{"who"}, Limits: Limits{Wall: 2 * time.Minute}})
			require.Equal(t, ReasonStartFailed, st.Exit.Reason, out)
			require.Contains(t, st.Exit.Message, c.want)
			removeJob(t, p, "l")
		})
	}
	fine := func(user string, layers ...v1.Layer) {
		_, digested := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{"/bin/job"}, User: user}, layers...)
		st, out := ran(t, p, Spec{LeaseID: "l", Image: digested, Command: []string{"who"}, Limits: Limits{Wall: 2 * time.Minute}})
		require.Equal(t, 0, st.Exit.Code, st.Exit.Message)
		require.Contains(t, out, "who 1 1000 1000\n")
		removeJob(t, p, "l")
	}
	fine("ml:ml", imagetest.Layer(t, users, groups, job))
	fine("ml:ml", imagetest.Layer(t, job), imagetest.Layer(t, users), imagetest.Layer(t, groups))
	_, digested := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{"/bin/job"}, User: "1000:100"}, imagetest.Layer(t, job, folder("etc/passwd")))
	_, out := ran(t, p, Spec{LeaseID: "l", Image: digested, Command: []string{"who"}, Limits: Limits{Wall: 2 * time.Minute}})
	require.Contains(t, out, "who 1 1000 100\n")
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), p.root, "nothing stays mounted")
}

// A program that makes its caller root makes nobody root, neither in the container nor on the machine.
func TestHostileSetuidPrograms(t *testing.T) {
	p, _ := containers(t)
	su := imagetest.File("bin/su", jobBinary(t))
	su.Mode = 0o4755
	_, digested := imagetest.Serve(t, "amd64", v1.Config{Entrypoint: []string{"/bin/su"}, User: "1000:1000"}, imagetest.Layer(t, su))
	_, out := ran(t, p, Spec{LeaseID: "l", Image: digested, Command: []string{"root"}, Limits: Limits{Wall: 2 * time.Minute}})
	require.Contains(t, out, "root 1000 <nil> operation not permitted")
}

// The whole way: a bomb is refused before anything runs, and the process that unpacks leaves nothing.
func TestHostileImagesAreRefusedByTheNode(t *testing.T) {
	p, _ := containers(t)
	p.sandbox.ImageBytes = 4 << 20
	_, digested := imagetest.Serve(t, "amd64", v1.Config{}, imagetest.Layer(t, imagetest.File("f", strings.Repeat("\x00", 64<<20))))
	_, err := p.Start(background(t), Spec{LeaseID: "l", Image: digested, Command: []string{"x"}})
	require.ErrorIs(t, err, ErrSpec)
	require.ErrorContains(t, err, "more than the 4 MiB that it may take here")
	u, _, err := p.Images()
	require.NoError(t, err)
	require.Zero(t, u.Layers)
	left, err := os.ReadDir(filepath.Join(p.sandbox.Images, "tmp"))
	require.NoError(t, err)
	require.Empty(t, left)
}
