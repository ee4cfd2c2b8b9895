package doctor

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/gantry-market/gantry/agent/gpus"
	"github.com/gantry-market/gantry/agent/host"
)

func checkDriver(ctx context.Context, m *Machine) Finding {
	r := m.conditions(ctx)
	switch {
	case m.wsl():
		return bad("https://ubuntu.com/download/server", "this is WSL2, where Windows has the driver: containers get no GPU here, and a driver for Linux would break it; "+
			"install Linux on the machine itself")
	case errors.Is(r.err, host.ErrNoDriver):
		return bad(m.driverCommand(), "%v", r.err)
	case r.err != nil:
		return bad("nvidia-smi; sudo dmesg | grep -i nvrm", "the driver does not answer as it should: %v", r.err)
	case len(r.gpus) == 0:
		return bad("lspci -d 10de: ; sudo dmesg | grep -i nvrm", "driver %s works and sees no GPU", r.driver)
	}
	return good("driver %s, %d GPUs", r.driver, len(r.gpus))
}

// wsl reports whether this is Windows' own Linux.
func (m *Machine) wsl() bool {
	if _, err := os.Stat(m.path("/dev/dxg")); err == nil {
		return true
	}
	release, _ := os.ReadFile(m.path("/proc/sys/kernel/osrelease"))
	return strings.Contains(strings.ToLower(string(release)), "microsoft")
}

func checkDriverSandbox(ctx context.Context, m *Machine) Finding {
	runsc, r := m.FindRunsc(), m.conditions(ctx)
	switch {
	case m.simulated():
		return none("simulated GPUs have no driver")
	case r.driver == "":
		return none("there is no driver (gpu-driver)")
	case runsc == "":
		return none("there is no runsc (runsc)")
	}
	err := m.Supported(ctx, runsc, r.driver)
	if err == nil {
		return good("%s knows driver %s", runsc, r.driver)
	}
	version := "VERSION"
	if _, list, found := strings.Cut(err.Error(), "install one of: "); found && errors.Is(err, gpus.ErrDriver) {
		known := strings.Split(list, ", ")
		version = known[len(known)-1]
	}
	file := "NVIDIA-Linux-x86_64-" + version + ".run"
	return bad("curl -fLO https://us.download.nvidia.com/tesla/"+version+"/"+file+" && sudo sh "+file+" --silent && sudo reboot", "containers would get no GPU: %v", err)
}

// blasCommand takes the library from the system's own sources, where the driver comes from too.
const blasCommand = "sudo apt-get install -y libcublaslt12 || sudo apt-get install -y libcublaslt11"

func checkBLAS(ctx context.Context, m *Machine) Finding {
	switch r := m.conditions(ctx); {
	case m.simulated():
		return none("simulated GPUs need no cuBLASLt")
	case r.driver == "":
		return none("there is no driver (gpu-driver)")
	}
	if err := m.FindBLAS(); err != nil {
		return bad(blasCommand, "measurements would reach about a tenth of the GPU's class, and it would get no orders: cuBLASLt does not load (%v)", err)
	}
	return good("measurements multiply by cuBLASLt")
}

const toolkitCommand = "curl -fsSL https://nvidia.github.io/libnvidia-container/gpgkey | sudo gpg --dearmor -o /usr/share/keyrings/nvidia-container-toolkit-keyring.gpg && " +
	"curl -fsSL https://nvidia.github.io/libnvidia-container/stable/deb/nvidia-container-toolkit.list | " +
	"sed 's#deb https://#deb [signed-by=/usr/share/keyrings/nvidia-container-toolkit-keyring.gpg] https://#' | " +
	"sudo tee /etc/apt/sources.list.d/nvidia-container-toolkit.list && sudo apt-get update && sudo apt-get install -y nvidia-container-toolkit-base"

func checkToolkit(ctx context.Context, m *Machine) Finding {
	if m.simulated() {
		return none("simulated GPUs need no toolkit")
	}
	path, err := m.LookPath("nvidia-ctk")
	if err != nil {
		return bad(toolkitCommand, "nvidia-ctk is not in PATH; containers get their GPUs by it")
	}
	out, err := m.Output(ctx, path, "--version")
	if err != nil {
		return bad(toolkitCommand, "%s does not run: %v", path, err)
	}
	return good("%s: %s", path, firstLine(out))
}

const runscCommand = "sudo apt-get install -y --reinstall ./gantry-agent_*.deb"

func checkRunsc(ctx context.Context, m *Machine) Finding {
	path := m.FindRunsc()
	if path == "" {
		return bad(runscCommand, "runsc is missing in the folder of gantry-agent and in PATH; without it no image runs")
	}
	out, err := m.Output(ctx, path, "--version")
	if err != nil {
		return bad(runscCommand, "%s does not run: %v", path, err)
	}
	return good("%s: %s", path, firstLine(out))
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}
