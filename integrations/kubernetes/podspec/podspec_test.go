package podspec

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "main", Image: "example.org/job:1", Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{GPUs: resource.MustParse("2")}},
	}}}}
	if change != nil {
		change(p)
	}
	return p
}

// Everything that a pod says of its container is in the order.
func TestAPodIsAnOrder(t *testing.T) {
	user, deadline, size := int64(1000), int64(60), resource.MustParse("2Gi")
	got, warnings, err := Order(pod(func(p *corev1.Pod) {
		p.Annotations = map[string]string{AnnotationBudget: "5", AnnotationMaxPrice: "1.5", LabelGPU: "A100", AnnotationRegion: "eu", AnnotationNetwork: "none"}
		p.Labels = map[string]string{LabelGPU: "H100"}
		p.Spec.ActiveDeadlineSeconds = &deadline
		c := &p.Spec.Containers[0]
		c.Command, c.Args = []string{"python", "-m"}, []string{"train", "--seed=$(SEED)", "$$(SEED)", "$(NONE)", "$"}
		c.Env = []corev1.EnvVar{{Name: "SEED", Value: "7"}, {Name: "KUBERNETES_SERVICE_HOST", Value: "10.96.0.1"}, {Name: "KUBERNETES_PORT_443_TCP", Value: "x"}}
		c.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("1500m"), "memory": resource.MustParse("1G"), "ephemeral-storage": resource.MustParse("3Gi")}
		c.SecurityContext = &corev1.SecurityContext{RunAsUser: &user}
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: 8080}}
		c.ReadinessProbe = &corev1.Probe{}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "shm", MountPath: "/dev/shm"}, {Name: "token", MountPath: serviceAccounts}}
		p.Spec.Volumes = []corev1.Volume{
			{Name: "shm", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: &size}}},
			{Name: "token", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{}}},
		}
	}), Defaults{GPU: "any", MaxPrice: "9", Budget: "10", Seconds: 600, AllowSimulated: true})
	require.NoError(t, err)
	require.Equal(t, []string{"readinessProbe is not run: a container counts as ready while it runs"}, warnings)
	require.Equal(t, market.OrderRequest{
		GPU: "A100", Count: 2, Seconds: 60, MaxPrice: "1.5", Budget: "5", Image: "example.org/job:1", Entrypoint: "python",
		Command: []string{"-m", "train", "--seed=7", "$(SEED)", "$(NONE)", "$"}, Env: map[string]string{"SEED": "7"}, User: "1000", Region: "eu", Network: "none",
		CPUs: 2, MemoryMiB: 954, DiskMiB: 3072, ShmMiB: 2048, Ports: []market.Port{{Name: "web", Port: 8080}}, RunToCompletion: true, UntilStopped: true, AllowSimulated: true,
	}, got)
	got, _, err = Order(pod(func(p *corev1.Pod) { p.Spec.Containers[0].Args = []string{"a"} }), Defaults{GPU: "any", Budget: "10", Seconds: 600})
	require.NoError(t, err)
	require.Empty(t, got.Entrypoint)
	require.Equal(t, []string{"a"}, got.Command)
	require.Equal(t, "any", got.GPU)
}

// What a lease does not have is refused, with what to do instead.
func TestWhatIsRefused(t *testing.T) {
	yes, zero := true, int64(0)
	for says, change := range map[string]func(*corev1.Pod){
		"init containers (prepare)": func(p *corev1.Pod) { p.Spec.InitContainers = []corev1.Container{{Name: "prepare"}} },
		"2 containers":              func(p *corev1.Pod) { p.Spec.Containers = append(p.Spec.Containers, corev1.Container{}) },
		"hostNetwork":               func(p *corev1.Pod) { p.Spec.HostNetwork = true },
		"hostAliases":               func(p *corev1.Pod) { p.Spec.HostAliases = []corev1.HostAlias{{}} },
		"fsGroup":                   func(p *corev1.Pod) { p.Spec.SecurityContext = &corev1.PodSecurityContext{FSGroup: &zero} },
		"no GPU":                    func(p *corev1.Pod) { p.Spec.Containers[0].Resources = corev1.ResourceRequirements{} },
		"has 8 at most": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits[GPUs] = resource.MustParse("9")
		},
		"asks for amd.com/gpu": func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits["amd.com/gpu"] = resource.MustParse("1")
		},
		"is privileged": func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Privileged: &yes}
		},
		"capabilities": func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{Capabilities: &corev1.Capabilities{Add: []corev1.Capability{"SYS_ADMIN"}}}
		},
		"read-only": func(p *corev1.Pod) {
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{ReadOnlyRootFilesystem: &yes}
		},
		"set runAsUser":   func(p *corev1.Pod) { p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes} },
		"workingDir":      func(p *corev1.Pod) { p.Spec.Containers[0].WorkingDir = "/x" },
		"lifecycle hooks": func(p *corev1.Pod) { p.Spec.Containers[0].Lifecycle = &corev1.Lifecycle{} },
		"stdin and tty":   func(p *corev1.Pod) { p.Spec.Containers[0].TTY = true },
		"hostPort":        func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} },
		"its volume data": func(p *corev1.Pod) {
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{HostPath: &corev1.HostPathVolumeSource{}}}}
			p.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
		},
	} {
		_, _, err := Order(pod(change), Defaults{GPU: "any", Budget: "10", Seconds: 600})
		require.ErrorIs(t, err, ErrRefused, says)
		require.ErrorContains(t, err, says)
	}
	// A volume that is not mounted, and a user that is not root, are no reason.
	_, _, err := Order(pod(func(p *corev1.Pod) {
		user := int64(1000)
		p.Spec.SecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: &yes, RunAsUser: &user}
		p.Spec.Volumes = []corev1.Volume{{Name: "data"}}
	}), Defaults{GPU: "any", Budget: "10", Seconds: 600})
	require.NoError(t, err)
}
