package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Requirable are what images may require of the driver and the GPUs: the newest CUDA, the compute capability and the brand, as NVIDIA's
// container toolkit names them. What differs between the GPUs, or is not said, is empty.
func (m *Machine) Requirable(ctx context.Context) (cuda, arch, brand string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gpus == nil {
		return "", "", ""
	}
	var archs, names []string
	err := m.gpus.handles(ctx, func(_ int, d nvml.Device, ret nvml.Return) error {
		if ret != nvml.SUCCESS {
			return nil
		}
		var number, name string
		if m.gpus.has("nvmlDeviceGetCudaComputeCapability") {
			if major, minor, ret := d.GetCudaComputeCapability(); ret == nvml.SUCCESS {
				number = fmt.Sprintf("%d.%d", major, minor)
			}
		}
		if m.gpus.has("nvmlDeviceGetBrand") {
			if kind, ret := d.GetBrand(); ret == nvml.SUCCESS {
				name = brands[kind]
			}
		}
		archs, names = append(archs, number), append(names, name)
		return nil
	})
	same := func(all []string) string {
		if all = slices.Compact(all); err != nil || len(all) != 1 {
			return ""
		}
		return all[0]
	}
	return m.gpus.Driver().CUDA, same(archs), same(names)
}

// brands are the names that images have for them.
var brands = map[nvml.BrandType]string{
	nvml.BRAND_UNKNOWN: "unknown", nvml.BRAND_QUADRO: "quadro", nvml.BRAND_TESLA: "tesla", nvml.BRAND_NVS: "nvs", nvml.BRAND_GRID: "grid",
	nvml.BRAND_GEFORCE: "geforce", nvml.BRAND_TITAN: "titan", nvml.BRAND_NVIDIA_VAPPS: "vapps", nvml.BRAND_NVIDIA_VPC: "vpc", nvml.BRAND_NVIDIA_VCS: "vcs",
	nvml.BRAND_NVIDIA_VWS: "vws", nvml.BRAND_NVIDIA_CLOUD_GAMING: "cloudgaming", nvml.BRAND_QUADRO_RTX: "quadrortx", nvml.BRAND_NVIDIA_RTX: "nvidiartx",
	nvml.BRAND_NVIDIA: "nvidia", nvml.BRAND_GEFORCE_RTX: "geforcertx", nvml.BRAND_TITAN_RTX: "titanrtx",
}
