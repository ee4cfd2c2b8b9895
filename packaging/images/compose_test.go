//go:build e2e && linux

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	oci "github.com/opencontainers/runtime-spec/specs-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/localnet/engine"
	"github.com/gantry-market/gantry/localnet/network"
	"github.com/gantry-market/gantry/localnet/selfsigned"
)

// service is what a compose file says of a container, as far as this test looks at it.
type service struct {
	Image       string             `json:"image"`
	Command     []string           `json:"command"`
	Environment map[string]*string `json:"environment"`
	ReadOnly    bool               `json:"read_only"`
	CapDrop     []string           `json:"cap_drop"`
	SecurityOpt []string           `json:"security_opt"`
	Secrets     []struct {
		Source, Target string
	} `json:"secrets"`
	Volumes []struct {
		Type, Source, Target string
		ReadOnly             bool `json:"read_only"`
	} `json:"volumes"`
	HealthCheck struct {
		Test []string `json:"test"`
	} `json:"healthcheck"`
}

// project is what packaging/compose/compose.yaml says with these settings.
type project struct {
	Services map[string]service `json:"services"`
	Secrets  map[string]struct {
		File string `json:"file"`
	} `json:"secrets"`
}

func composed(t *testing.T, settings ...string) (p project) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "-C", "../compose", ".", "compose.yaml")
	cmd.Env, cmd.Stderr = append(os.Environ(), settings...), os.Stderr
	raw, err := cmd.Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &p))
	return p
}

// container is a service that runs in gVisor.
type container struct {
	name, log, data string
	service         service
	runsc           func(args ...string) *exec.Cmd
}

// start runs a service as an engine would, apart from its network: it shares that of this machine, where the local market is.
func (p project) start(t *testing.T, name, runsc, images, volumes string, more ...string) *container {
	t.Helper()
	s, state := p.Services[name], stateOf(t)
	bundle := unpacked(t, filepath.Join(images, "gantry-"+name+"-"+version+".oci.tar"), append(s.Command, more...))
	require.Equal(t, "gantry-"+name+":"+tag(version), s.Image)
	c := &container{name: name, log: filepath.Join(t.TempDir(), "log"), service: s}
	settings := filepath.Join(bundle, "config.json")
	var spec oci.Spec
	raw, err := os.ReadFile(settings)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &spec))
	require.Equal(t, []string{"ALL"}, s.CapDrop)
	spec.Process.Capabilities = &oci.LinuxCapabilities{}
	spec.Process.NoNewPrivileges = len(s.SecurityOpt) == 1 && s.SecurityOpt[0] == "no-new-privileges:true"
	spec.Root.Readonly = s.ReadOnly
	for key, value := range s.Environment {
		if value != nil {
			spec.Process.Env = append(spec.Process.Env, key+"="+*value)
		}
	}
	for _, v := range s.Volumes {
		options := []string{"rbind", "rw"}
		if v.Type == "volume" {
			v.Source = filepath.Join(volumes, v.Source)
			c.data = v.Source
		}
		if v.ReadOnly {
			options[1] = "ro"
		}
		spec.Mounts = append(spec.Mounts, oci.Mount{Type: "bind", Source: v.Source, Destination: v.Target, Options: options})
	}
	for _, secret := range s.Secrets {
		spec.Mounts = append(spec.Mounts, oci.Mount{
			Type: "bind", Source: p.Secrets[secret.Source].File, Destination: "/run/secrets/" + secret.Target, Options: []string{"rbind", "ro"},
		})
	}
	spec.Mounts = append(spec.Mounts, oci.Mount{Type: "tmpfs", Source: "tmpfs", Destination: "/tmp"})
	raw, err = json.Marshal(spec)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(settings, raw, 0o600))
	c.runsc = func(args ...string) *exec.Cmd {
		return runscIn(t, runsc, state, append([]string{"--network=host"}, args...)...)
	}
	log, err := os.Create(c.log)
	require.NoError(t, err)
	defer func() { require.NoError(t, log.Close()) }()
	running := c.runsc("run", "--bundle", bundle, name)
	running.Stdout, running.Stderr = log, log
	running.Cancel = func() error { return running.Process.Signal(syscall.SIGTERM) } // which runsc passes on
	running.WaitDelay = 30 * time.Second
	require.NoError(t, running.Start())
	t.Cleanup(func() { _ = running.Wait() })
	return c
}

// healthy waits until the health check of the compose file passes in the container.
func (c *container) healthy(t *testing.T) {
	t.Helper()
	var said []byte
	require.Eventually(t, func() (ok bool) {
		var err error
		said, err = c.runsc(append([]string{"exec", c.name}, c.service.HealthCheck.Test[1:]...)...).CombinedOutput()
		return err == nil
	}, 2*time.Minute, time.Second, "%s is not healthy", c.name)
	require.Empty(t, string(said))
}

// get is what the daemon answers at its own address.
func (c *container) get(path string) (status int, text string) {
	address, err := os.ReadFile(filepath.Join(c.data, "http.addr"))
	if err != nil {
		return 0, ""
	}
	answer, err := http.Get("http://" + strings.TrimSpace(string(address)) + path)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = answer.Body.Close() }()
	raw, _ := io.ReadAll(answer.Body) // what is missing is not found
	return answer.StatusCode, string(raw)
}

var votes = regexp.MustCompile(`(?m)^gantry_keeper_votes_total.* [1-9]`)

// A keeper of a local market moves with its store into the container that the compose file describes, and votes there. The gateway beside
// it finds keepers. Linux, root, runsc, the embedded engine.
func TestComposeFileRuns(t *testing.T) {
	if _, err := engine.Find(engine.Surfnet, ""); err != nil {
		t.Skipf("SKIPPED: %v", err)
	}
	runsc, images := sandbox(t)
	n, err := network.Start(t.Context(), network.Config{Engine: engine.Surfnet, Dir: t.TempDir(), Keepers: 3, Customers: 1, Nodes: network.DefaultNodes(1), Log: zerolog.Nop()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	require.NoError(t, n.Launch(t.Context()))
	out, err := n.Gantry(t.Context(), n.Keys.Customers[0], "credits", "add", "5")
	require.NoError(t, err)
	require.NoError(t, out.Err())

	folder := t.TempDir()
	secrets, certificate, volumes := filepath.Join(folder, "secrets"), filepath.Join(folder, "certificate"), filepath.Join(folder, "volumes")
	for _, made := range []string{secrets, certificate, volumes, filepath.Join(volumes, "gateway")} {
		require.NoError(t, os.Mkdir(made, 0o700))
	}
	require.NoError(t, selfsigned.Write(filepath.Join(certificate, "fullchain.pem"), filepath.Join(certificate, "privkey.pem"), "*.gw.test"))
	keeper := n.Keys.Keepers[2]
	require.NoError(t, n.Stop(t.Context(), keeper.Name))
	require.NoError(t, os.CopyFS(filepath.Join(volumes, "keeper"), os.DirFS(n.DataDir(keeper.Name))))
	for name, wallet := range map[string]string{"keeper": keeper.Path, "gateway": n.Keys.Customers[0].Path} {
		raw, err := os.ReadFile(wallet)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(secrets, name+".json"), raw, 0o400))
	}
	owned(t, folder)
	p := composed(t, "GANTRY_VERSION="+tag(version), "GANTRY_HOST=localhost", "GANTRY_RPC_URL="+n.At.RPC, "GANTRY_WS_URL="+n.At.WS,
		"GANTRY_GATEWAY_DOMAIN=gw.test", "GANTRY_SECRETS="+secrets, "GANTRY_CERTIFICATE="+certificate)
	k := p.start(t, "keeper", runsc, images, volumes, "--localnet") // whose periods are short
	g := p.start(t, "gateway", runsc, images, volumes)
	t.Cleanup(func() {
		for _, c := range []*container{k, g} {
			if raw, _ := os.ReadFile(c.log); t.Failed() {
				t.Logf("%s:\n%s", c.name, raw)
			}
		}
	})
	k.healthy(t)
	g.healthy(t)
	require.Eventually(t, func() bool { _, figures := k.get("/metrics"); return votes.MatchString(figures) }, 2*time.Minute, time.Second, "the keeper does not vote")
	require.Eventually(t, func() bool { status, _ := g.get("/readyz"); return status == http.StatusOK }, time.Minute, time.Second, "the gateway has no keeper")
}

// owned gives files to the user of the images, who alone may read them.
func owned(t *testing.T, folder string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "chown", "-R", strconv.Itoa(user), folder).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
