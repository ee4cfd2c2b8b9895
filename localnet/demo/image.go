package demo

import (
	"context"
	"errors"
	"os"

	"github.com/gantry-market/gantry/agent/config"
	"github.com/gantry-market/gantry/localnet/images"
	"github.com/gantry-market/gantry/localnet/machine"
	"github.com/gantry-market/gantry/localnet/network"
)

// tools are the programs of the demo's image.
var tools = []string{"sh", "cat", "df", "echo", "httpd", "ip", "ls", "mkdir", "mv", "nc", "nproc", "ping", "sleep", "timeout", "uname", "wc"}

// withoutContainers says why this computer can show no containers; it is empty where it can.
func withoutContainers(ctx context.Context) (string, error) {
	switch {
	case os.Geteuid() != 0:
		return "they need root", nil
	case config.Config{}.FindRunsc() == "":
		return "runsc, gVisor's runtime, is missing (scripts/toolchain.sh sandbox)", nil
	}
	if _, err := images.FindBusybox(); err != nil {
		return err.Error(), nil
	}
	err := network.TryNamespaces(ctx)
	if errors.Is(err, machine.ErrUnavailable) {
		return err.Error(), nil
	}
	return "", err
}

// pushImage puts the image of the demo's containers into the network's registry.
func pushImage(ctx context.Context, n *network.Network) (tagged string, size int64, err error) {
	files, err := images.Busybox(tools...)
	if err != nil {
		return "", 0, err
	}
	tagged, _, size, err = images.Push(ctx, n.Registry(), "demo/tools", files)
	return tagged, size, err
}
