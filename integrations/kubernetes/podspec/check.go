package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	// serviceAccounts is where Kubernetes mounts the token of a service account into every container.
	serviceAccounts = "/var/run/secrets/kubernetes.io/serviceaccount"
	shmPath         = "/dev/shm"
)

// check says what of a pod no lease has. A lease is one container on a machine of somebody else.
func check(pod *corev1.Pod) error {
	s := &pod.Spec
	switch {
	case len(s.InitContainers) > 0:
		return fmt.Errorf("it has init containers (%s), and a lease runs one container: do their work in the image, or at the beginning of its command", s.InitContainers[0].Name)
	case len(s.Containers) != 1:
		return fmt.Errorf("it has %d containers, and a lease runs one: give each its own pod", len(s.Containers))
	case len(s.EphemeralContainers) > 0:
		return fmt.Errorf("it has ephemeral containers, and a lease runs one container: use kubectl exec")
	case s.HostNetwork || s.HostPID || s.HostIPC:
		return fmt.Errorf("it asks for the host's network, processes or IPC, and the host belongs to somebody else: leave hostNetwork, hostPID and hostIPC out")
	case s.HostUsers != nil && *s.HostUsers:
		return fmt.Errorf("it asks for the host's users: leave hostUsers out")
	case len(s.HostAliases) > 0 || s.DNSConfig != nil:
		return fmt.Errorf("it changes how names are resolved, and a lease has the machine's names: leave hostAliases and dnsConfig out")
	case len(s.ResourceClaims) > 0:
		return fmt.Errorf("it has resource claims: ask for GPUs with resources.limits of %s", GPUs)
	}
	if err := checkSecurity(s.SecurityContext); err != nil {
		return err
	}
	if mustNotBeRoot(pod) && isRoot(userOf(pod, &s.Containers[0])) {
		return fmt.Errorf("it must not run as root, and names no other user: set runAsUser")
	}
	if err := checkContainer(&s.Containers[0]); err != nil {
		return err
	}
	return checkVolumes(s)
}

func checkSecurity(c *corev1.PodSecurityContext) error {
	switch {
	case c == nil:
		return nil
	case len(c.SupplementalGroups) > 0 || c.FSGroup != nil:
		return fmt.Errorf("its security context names further groups, and a container of a lease has one: leave supplementalGroups and fsGroup out")
	case len(c.Sysctls) > 0:
		return fmt.Errorf("its security context sets sysctls, and the kernel belongs to the machine: leave them out")
	}
	return nil
}

// mustNotBeRoot reports whether the pod forbids root; what the container says counts more.
func mustNotBeRoot(pod *corev1.Pod) bool {
	if s := pod.Spec.Containers[0].SecurityContext; s != nil && s.RunAsNonRoot != nil {
		return *s.RunAsNonRoot
	}
	s := pod.Spec.SecurityContext
	return s != nil && s.RunAsNonRoot != nil && *s.RunAsNonRoot
}

// isRoot reports whether a user is root, or is left to the image, which nobody has looked into yet.
func isRoot(user string) bool { return user == "" || user == "0" || strings.HasPrefix(user, "0:") }

func checkContainer(c *corev1.Container) error {
	switch s := c.SecurityContext; {
	case s == nil:
	case s.Privileged != nil && *s.Privileged:
		return fmt.Errorf("container %s is privileged, and no lease is: leave privileged out", c.Name)
	case s.Capabilities != nil && len(s.Capabilities.Add) > 0:
		return fmt.Errorf("container %s asks for more capabilities (%s), and no lease has them: leave capabilities.add out", c.Name, s.Capabilities.Add[0])
	case s.ReadOnlyRootFilesystem != nil && *s.ReadOnlyRootFilesystem:
		return fmt.Errorf("container %s asks for a read-only root file system, and that of a lease can be written: leave readOnlyRootFilesystem out", c.Name)
	}
	switch {
	case c.WorkingDir != "":
		return fmt.Errorf("container %s sets workingDir, and a lease has the image's: change the folder in its command, such as sh -c 'cd %s && …'", c.Name, c.WorkingDir)
	case c.Lifecycle != nil:
		return fmt.Errorf("container %s has lifecycle hooks, and nothing runs them: do their work in its command", c.Name)
	case len(c.VolumeDevices) > 0:
		return fmt.Errorf("container %s has volume devices: leave volumeDevices out", c.Name)
	case c.Stdin || c.TTY:
		return fmt.Errorf("container %s wants an input or a terminal, and a job of a lease has none: leave stdin and tty out, and use kubectl exec", c.Name)
	}
	for _, p := range c.Ports {
		if p.HostPort != 0 {
			return fmt.Errorf("container %s wants port %d of the host, which belongs to somebody else: leave hostPort out, and use kubectl port-forward", c.Name, p.HostPort)
		}
	}
	for name := range c.Resources.Limits {
		switch name {
		case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage, GPUs:
		default:
			return fmt.Errorf("container %s asks for %s, which no machine of the market has: leave it out", c.Name, name)
		}
	}
	return nil
}

// checkVolumes lets the token of the service account be absent, which would open nothing from outside of the cluster, and
// /dev/shm be memory. All other volumes are files of the cluster.
func checkVolumes(s *corev1.PodSpec) error {
	at := map[string]string{}
	for _, m := range s.Containers[0].VolumeMounts {
		at[m.Name] = m.MountPath
	}
	for _, v := range s.Volumes {
		path, mounted := at[v.Name]
		switch {
		case !mounted:
		case v.Projected != nil && path == serviceAccounts:
		case isMemory(&v) && path == shmPath:
		default:
			return fmt.Errorf("its volume %s is mounted at %s, and the volumes of the cluster do not reach a lease: bring data in the image, or fetch it from the command; settings may come from env. An emptyDir of medium Memory at %s is there", v.Name, path, shmPath)
		}
	}
	return nil
}

func isMemory(v *corev1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == corev1.StorageMediumMemory
}

// shm is what /dev/shm of the container may hold, MiB; 0 for what the machine gives.
func shm(pod *corev1.Pod) int64 {
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.MountPath != shmPath {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && isMemory(&v) && v.EmptyDir.SizeLimit != nil {
				return mib(v.EmptyDir.SizeLimit)
			}
		}
	}
	return 0
}

// lacking is what a container asks for and can do without.
func lacking(c *corev1.Container) (out []string) {
	var probes []string
	for _, p := range []struct {
		name  string
		probe *corev1.Probe
	}{{"livenessProbe", c.LivenessProbe}, {"readinessProbe", c.ReadinessProbe}, {"startupProbe", c.StartupProbe}} {
		if p.probe != nil {
			probes = append(probes, p.name)
		}
	}
	if len(probes) > 0 {
		out = append(out, fmt.Sprintf("%s not run: a container counts as ready while it runs", are(probes)))
	}
	return out
}

func are(words []string) string {
	if len(words) == 1 {
		return words[0] + " is"
	}
	return strings.Join(words, " and ") + " are"
}
