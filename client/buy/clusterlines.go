package buy

import "fmt"

// ServiceLines say where the cluster's programs meet, and how the customer reaches them.
func (c *Cluster) ServiceLines() (out []string) {
	for i := range c.Services {
		sv := &c.Services[i]
		there := fmt.Sprintf("gantry port %s %d", sv.Lease, sv.Port)
		switch sv.Name {
		case ServiceRay:
			out = append(out, fmt.Sprintf("head  %s at %s, for programs in the containers: ray.init() finds it", sv.Host, sv.Address))
		case ServiceClient:
			out = append(out, fmt.Sprintf("Ray client  %s, then ray.init(\"ray://127.0.0.1:%d\")", there, sv.Port))
		case ServiceDashboard:
			out = append(out, fmt.Sprintf("dashboard and jobs  %s, then http://127.0.0.1:%d", there, sv.Port))
		case ServiceTorch:
			out = append(out, fmt.Sprintf("torchrun meets at  %s of %s", sv.Address, sv.Host))
		}
	}
	return out
}
