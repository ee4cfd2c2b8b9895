package market

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/attest/measure/class"
)

// Drivers write names in their own way; each of them is of one model of the market, and of no other.
func TestADeviceIsOfOneModel(t *testing.T) {
	devices := map[string][]string{
		"H100-SXM5-80GB":                {"NVIDIA H100 80GB HBM3", "SIMULATED NVIDIA H100 80GB HBM3"},
		"H100-PCIe-80GB":                {"NVIDIA H100 PCIe"},
		"H100-NVL-94GB":                 {"NVIDIA H100 NVL"},
		"H200-SXM5-141GB":               {"NVIDIA H200"},
		"H200-NVL-141GB":                {"NVIDIA H200 NVL"},
		"GH200-480GB":                   {"NVIDIA GH200 480GB", "NVIDIA GH200 144G HBM3e"},
		"B200-SXM6-180GB":               {"NVIDIA B200"},
		"A100-SXM4-40GB":                {"NVIDIA A100-SXM4-40GB", "A100-SXM4-40GB", "NVIDIA A100-SXM4-80GB"},
		"A100-PCIe-80GB":                {"NVIDIA A100 80GB PCIe", "NVIDIA A100-PCIE-40GB"},
		"V100-SXM2-16GB":                {"Tesla V100-SXM2-16GB"},
		"L40S":                          {"NVIDIA L40S"},
		"L40":                           {"NVIDIA L40"},
		"L4":                            {"NVIDIA L4"},
		"A10":                           {"NVIDIA A10"},
		"T4":                            {"Tesla T4", "NVIDIA T4"},
		"RTX-3090":                      {"NVIDIA GeForce RTX 3090", "GeForce RTX 3090"},
		"RTX-4090":                      {"NVIDIA GeForce RTX 4090"},
		"RTX 5090":                      {"NVIDIA GeForce RTX 5090"},
		"RTX-A6000":                     {"NVIDIA RTX A6000"},
		"RTX-6000-Ada":                  {"NVIDIA RTX 6000 Ada Generation"},
		"RTX-PRO-6000-Blackwell-Server": {"NVIDIA RTX PRO 6000 Blackwell Server Edition"},
	}
	// The forms of one chip are told apart where the driver names one; memory tells the others apart.
	sameChip := func(a, b string) bool {
		x, one := gpuName(a)
		y, other := gpuName(b)
		return x == y && (one == "" || other == "" || one == other)
	}
	for model, names := range devices {
		for _, name := range names {
			require.True(t, SameModel(name, model), "%s is a %s", name, model)
			for other := range devices {
				if chip, _ := gpuName(other); other != model && !sameChip(name, other) {
					require.False(t, SameModel(name, other), "%s is no %s", name, chip)
				}
			}
		}
	}
	for _, c := range [][2]string{
		{"NVIDIA GeForce RTX 3060", "RTX-4090"},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", "RTX-4090"},
		{"NVIDIA GeForce RTX 4090 D", "RTX-4090"},
		{"NVIDIA GeForce RTX 3090 Ti", "RTX-3090"},
		{"NVIDIA H100 PCIe", "H100-SXM5-80GB"},
		{"NVIDIA H100 NVL", "H100-SXM5-80GB"},
		{"NVIDIA A100-PCIE-40GB", "A100-SXM4-40GB"},
		{"NVIDIA RTX A1000", "A100-SXM4-40GB"},
		{"NVIDIA A10G", "A10"},
		{"NVIDIA L40", "L40S"},
		{"NVIDIA H100 80GB HBM3 MIG 1g.10gb", "H100-SXM5-80GB"},
		{"GRID A100X-40C", "A100-SXM4-40GB"},
		{"H100 T4 A100", "A100-SXM4-40GB"},
		{"", "A100-SXM4-40GB"},
		{"NVIDIA 80GB", "NVIDIA-80GB"},
	} {
		require.False(t, SameModel(c[0], c[1]), "%s is no %s", c[0], c[1])
	}
}

// Every device that the table of classes knows is of its own class among all the table's models, and of no other.
func TestADeviceOfTheTableIsOfItsOwnClass(t *testing.T) {
	table := class.GPUs()
	for i := range table.Classes {
		of := &table.Classes[i]
		for _, driver := range of.Drivers {
			for _, as := range table.Classes {
				require.Equal(t, of.Name == as.Name, DeviceOfModel(table.Device("", driver), driver, as.Name), "%s as %s", driver, as.Name)
			}
			require.True(t, SameModel(driver, of.Name), "%s is a %s by its name too", driver, of.Name)
		}
	}
	require.True(t, DeviceOfModel(nil, "NVIDIA L40", "L40"), "what the table does not have is told by its name")
	require.False(t, DeviceOfModel(table.Device("", "NVIDIA L40S"), "NVIDIA L40S", "L40"))
}
