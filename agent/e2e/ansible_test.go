package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/internal/testkit/repository"
)

// ansible runs a playbook against this computer and returns how many tasks have changed something.
func (f *fleet) ansible(python, playbook string, variables map[string]any) (changed int, said string) {
	f.w.t.Helper()
	raw, err := json.Marshal(variables)
	require.NoError(f.w.t, err)
	cmd := exec.CommandContext(f.w.t.Context(), python, "-m", "ansible", "playbook", "--connection", "local", "--inventory", "machine,", "--extra-vars", string(raw), playbook)
	cmd.Env = append(os.Environ(), "ANSIBLE_ROLES_PATH="+filepath.Join(repository.Root(f.w.t), "packaging/ansible/roles"), "ANSIBLE_NOCOLOR=1", "ANSIBLE_LOCAL_TEMP="+f.w.dir,
		"ANSIBLE_REMOTE_TEMP="+f.w.dir, "PATH="+filepath.Dir(built.path)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(f.w.t, err, "%s", out)
	recap := regexp.MustCompile(`machine +: ok=\d+ +changed=(\d+) +unreachable=0 +failed=0`).FindSubmatch(out)
	require.NotNil(f.w.t, recap, "%s", out)
	changed, err = strconv.Atoi(string(recap[1]))
	require.NoError(f.w.t, err)
	return changed, string(out)
}

// The role makes a machine ready without the wallet, and registers it with the wallet. A second run changes nothing, and the wallet stays
// nowhere. Its parts that need a package and a service manager are checked by their syntax only.
func TestAnsibleSetsUpAMachine(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("ansible-python")
	if err != nil {
		t.Skip("SKIPPED: the role is tried after scripts/toolchain.sh ansible")
	}
	root := repository.Root(t)
	syntax := exec.CommandContext(t.Context(), python, "-m", "ansible", "playbook", "--syntax-check", "--inventory", "machine,", filepath.Join(root, "packaging/ansible/agents.yaml"))
	out, err := syntax.CombinedOutput()
	require.NoError(t, err, "%s", out)

	w := newTestbed(t)
	f := w.newFleet(`inventory: "simulated:A100:1"`)
	playbook := filepath.Join(w.dir, "playbook.yaml")
	require.NoError(t, os.WriteFile(playbook, fmt.Appendf(nil, `- hosts: machine
  gather_facts: false
  environment: {GANTRY_INVENTORY: "simulated:A100:1", GANTRY_WS_URL: %q}
  tasks: [{ansible.builtin.include_role: {name: gantry_agent, tasks_from: setup}}]
`, w.at.WS), 0o600))
	data, memory := filepath.Join(w.dir, "machine"), t.TempDir()
	variables := map[string]any{
		"gantry_agent_data": data, "gantry_agent_memory": memory, "gantry_agent_rpc_url": w.at.RPC, "gantry_agent_region": "us-west-2", "gantry_agent_site": "rack-7", "gantry_agent_price": "1.26",
		"gantry_agent_accept": everyCheck(), "ansible_python_interpreter": "{{ ansible_playbook_python }}",
	}
	changed, said := f.ansible(python, playbook, variables)
	require.Equal(t, 1, changed, said)
	require.Empty(t, f.nodes(), "there is no wallet")
	changed, said = f.ansible(python, playbook, variables)
	require.Zero(t, changed, said)

	variables["gantry_agent_keypair"] = f.wallet.Path
	changed, said = f.ansible(python, playbook, variables)
	require.Equal(t, 1, changed, said)
	all := f.nodes()
	require.Len(t, all, 1, said)
	require.Equal(t, "rack-7", all[0].Site())
	changed, said = f.ansible(python, playbook, variables)
	require.Zero(t, changed, said)
	require.Len(t, f.nodes(), 1)
	wallet, err := os.ReadFile(f.wallet.Path)
	require.NoError(t, err)
	require.NotContains(t, said, string(wallet))
	require.NoFileExists(t, filepath.Join(memory, "gantry-agent-wallet.json"))
}
