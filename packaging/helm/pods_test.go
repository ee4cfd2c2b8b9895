package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func node(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	return object[*appsv1.Deployment](t, objects(t, "gantry-kubelet", text))
}

func agents(t *testing.T, text string) *appsv1.DaemonSet {
	t.Helper()
	return object[*appsv1.DaemonSet](t, objects(t, "gantry-agent", text))
}

// admitted is what a level of Kubernetes' Pod Security says against a pod; nothing if it admits it.
func admitted(t *testing.T, level api.Level, pod corev1.PodTemplateSpec) string {
	t.Helper()
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	require.NoError(t, err)
	r := policy.AggregateCheckResults(e.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec))
	return r.ForbiddenDetail()
}

func TestTheNodeNeedsNoRightsOfItsMachine(t *testing.T) {
	for _, text := range []string{least["gantry-kubelet"], most["gantry-kubelet"]} {
		pod := node(t, text).Spec.Template
		require.Empty(t, admitted(t, api.LevelRestricted, pod))
		for _, c := range pod.Spec.Containers {
			require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem, c.Name)
		}
	}
	// The check can fail.
	pod := node(t, least["gantry-kubelet"]).Spec.Template
	pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
	require.Contains(t, admitted(t, api.LevelRestricted, pod), "allowPrivilegeEscalation")
}

// What binds the rights to the account of the pod is consistent, in two releases too.
func TestRightsAreBoundToTheNode(t *testing.T) {
	seen := map[string]bool{}
	for _, release := range []string{"one", "two"} {
		files, err := render(t.Context(), "gantry-kubelet", release, "ns", values(t, least["gantry-kubelet"]))
		require.NoError(t, err)
		all, err := decode(files["gantry-kubelet/templates/rights.yaml"])
		require.NoError(t, err)
		role, binding := object[*rbacv1.ClusterRole](t, all), object[*rbacv1.ClusterRoleBinding](t, all)
		account := object[*corev1.ServiceAccount](t, all)
		require.Equal(t, rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name}, binding.RoleRef)
		require.Equal(t, []rbacv1.Subject{{Kind: "ServiceAccount", Name: account.Name, Namespace: "ns"}}, binding.Subjects)
		require.False(t, seen[role.Name], "releases do not share %s", role.Name)
		seen[role.Name] = true
		all, err = decode(files["gantry-kubelet/templates/node.yaml"])
		require.NoError(t, err)
		d := object[*appsv1.Deployment](t, all)
		require.Equal(t, account.Name, d.Spec.Template.Spec.ServiceAccountName)
		require.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
		for _, rule := range role.Rules {
			require.NotContains(t, append(append(rule.Verbs, rule.Resources...), rule.APIGroups...), "*")
		}
	}
}

func TestTheNodeHasItsValues(t *testing.T) {
	d := node(t, most["gantry-kubelet"])
	spec := d.Spec.Template.Spec
	require.Equal(t, appsv1.RecreateDeploymentStrategyType, d.Spec.Strategy.Type)
	require.Equal(t, []string{
		"--token-file=/state/token", "--state=/state/pods", "--node=a100", "--gpu=A100", "--max-price=2.50", "--budget=7", "--network=none", "--ahead=1h30m", "--pods=12",
		"--listen=:10251", "--client-ca=/client-ca/ca.crt", "--allow-simulated",
	}, spec.Containers[1].Args)
	require.Equal(t, "--metrics=127.0.0.1:9466", spec.Containers[0].Args[4])
	require.Contains(t, spec.Containers[0].Env, corev1.EnvVar{Name: "GANTRY_WS_URL", Value: "wss://rpc.example"})
	require.Equal(t, []corev1.LocalObjectReference{{Name: "registry"}}, spec.ImagePullSecrets)
	require.Equal(t, map[string]string{"disk": "fast"}, spec.NodeSelector)
	require.Len(t, spec.Tolerations, 1)
	require.NotNil(t, spec.Affinity.NodeAffinity)
	require.Equal(t, "1Gi", spec.Containers[0].Resources.Limits.Memory().String())
	require.Equal(t, "1", spec.Containers[1].Resources.Requests.Cpu().String())
	claim := object[*corev1.PersistentVolumeClaim](t, objects(t, "gantry-kubelet", most["gantry-kubelet"]))
	require.Equal(t, claim.Name, volume(t, spec, "state").PersistentVolumeClaim.ClaimName)
	require.Equal(t, "fast", *claim.Spec.StorageClassName)
	require.Equal(t, "keep", claim.Annotations["helm.sh/resource-policy"])
	require.Equal(t, "key", volume(t, spec, "session").Secret.SecretName)
	require.Equal(t, "aggregator", volume(t, spec, "client-ca").ConfigMap.Name)
	mine := node(t, least["gantry-kubelet"]+"state: {claim: mine}").Spec.Template.Spec
	require.Equal(t, "mine", volume(t, mine, "state").PersistentVolumeClaim.ClaimName)
}

func volume(t *testing.T, spec corev1.PodSpec, name string) corev1.Volume {
	t.Helper()
	i := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	require.GreaterOrEqual(t, i, 0, "there is no volume %s", name)
	return spec.Volumes[i]
}

// An agent has the rights that docs/operate/kubernetes-agents.md lists, which only a namespace with the level privileged admits.
func TestAgentsHaveTheRightsOfTheirMachine(t *testing.T) {
	for _, text := range []string{least["gantry-agent"], most["gantry-agent"]} {
		pod := agents(t, text).Spec.Template
		require.Empty(t, admitted(t, api.LevelPrivileged, pod))
		require.Contains(t, admitted(t, api.LevelBaseline, pod), "host namespaces (hostNetwork=true, hostPID=true)")
		require.False(t, *pod.Spec.AutomountServiceAccountToken)
		for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
			require.True(t, *c.SecurityContext.Privileged, c.Name)
			mounts := map[string]string{}
			for _, m := range c.VolumeMounts {
				mounts[m.MountPath] = m.Name
			}
			for _, path := range []string{"/var/lib/gantry-agent", "/dev", "/sys/fs/cgroup"} {
				require.NotNil(t, volume(t, pod.Spec, mounts[path]).HostPath, path)
			}
			require.Equal(t, "/usr/bin/nvidia-ctk", volume(t, pod.Spec, mounts["/usr/bin/nvidia-ctk"]).HostPath.Path)
		}
	}
}

// The owner's wallet is in the container that registers, and gone when the agent runs.
func TestTheWalletIsNotWithTheAgent(t *testing.T) {
	spec := agents(t, most["gantry-agent"]).Spec.Template.Spec
	require.Equal(t, "owner", volume(t, spec, "wallet").Secret.SecretName)
	has := func(c corev1.Container) bool {
		return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "wallet" })
	}
	require.True(t, has(spec.InitContainers[0]))
	require.False(t, has(spec.Containers[0]))
	require.Equal(t, []string{"setup", "--yes", "--keypair=/wallet/provider.json"}, spec.InitContainers[0].Args[:3])
	spec = agents(t, least["gantry-agent"]).Spec.Template.Spec
	require.Equal(t, "enrol", spec.InitContainers[0].Args[0])
	require.False(t, slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "wallet" }))
}

func TestAgentsHaveTheirValues(t *testing.T) {
	d := agents(t, most["gantry-agent"])
	spec := d.Spec.Template.Spec
	require.Equal(t, appsv1.OnDeleteDaemonSetStrategyType, d.Spec.UpdateStrategy.Type)
	require.Equal(t, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels)
	require.Equal(t, []string{"--region=us-west-2", "--site=rack1", "--price=auto:1.20", "--hours=weekdays 19:00-08:00; weekends", "--accept=clock-sync"}, spec.InitContainers[0].Args[3:])
	require.Equal(t, []string{"run", "--listen=/ip4/0.0.0.0/udp/4103/quic-v1"}, spec.Containers[0].Args)
	require.Equal(t, []corev1.ContainerPort{{Name: "quic", ContainerPort: 4103, HostPort: 4103, Protocol: corev1.ProtocolUDP}}, spec.Containers[0].Ports)
	require.Equal(t, "/srv/gantry", volume(t, spec, "data").HostPath.Path)
	require.Equal(t, map[string]string{"rack": "one", "nvidia.com/gpu.present": "true", "gantry.market/agent": "true"}, spec.NodeSelector)
	require.Empty(t, spec.Tolerations)
	require.Nil(t, spec.RuntimeClassName)
	require.Empty(t, spec.PriorityClassName)
	for _, c := range append(spec.InitContainers, spec.Containers...) {
		require.Contains(t, c.Env, corev1.EnvVar{Name: "GANTRY_LEASE_MBIT", Value: "1000"})
		require.Equal(t, "more", c.EnvFrom[0].SecretRef.Name)
		require.Equal(t, "8", c.Resources.Limits.Name("nvidia.com/gpu", "").String())
		require.Equal(t, "1Gi", c.Resources.Requests.Memory().String())
		require.False(t, slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "NVIDIA_VISIBLE_DEVICES" }), "the device plugin says which")
	}
	plain := agents(t, least["gantry-agent"]).Spec.Template.Spec
	require.Equal(t, "nvidia", *plain.RuntimeClassName)
	require.Contains(t, plain.Containers[0].Env, corev1.EnvVar{Name: "NVIDIA_VISIBLE_DEVICES", Value: "all"})
	require.Empty(t, plain.Containers[0].Resources)
}

// Each flag, and each variable of Gantry, exists in the program that this checkout builds.
func TestProgramsKnowFlagsAndVariables(t *testing.T) {
	words := func(dir, main string, command ...string) []string {
		t.Helper()
		args := append(append([]string{"run", "-C", dir, main}, command...), "--help")
		help, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		require.NoError(t, err, "%s: %s", main, help)
		return strings.FieldsFunc(string(help), func(r rune) bool { return strings.ContainsRune(" \n,[]()$", r) })
	}
	known := func(words []string, c corev1.Container, common ...string) {
		t.Helper()
		for _, arg := range c.Args {
			if name, _, _ := strings.Cut(arg, "="); strings.HasPrefix(name, "--") {
				require.Contains(t, words, name, c.Name)
			}
		}
		for _, e := range c.Env {
			if strings.HasPrefix(e.Name, "GANTRY_") && !slices.Contains(common, e.Name) {
				require.Contains(t, words, e.Name, c.Name)
			}
		}
	}
	spec := node(t, most["gantry-kubelet"]).Spec.Template.Spec
	global := words("../..", "./client/cmd/gantry")
	known(append(words("../..", "./client/cmd/gantry", "serve"), global...), spec.Containers[0])
	known(words("../../integrations/kubernetes", "./cmd/gantry-kubelet"), spec.Containers[1])
	const agent = "./agent/cmd/gantry-agent"
	run := words("../..", agent, "run")
	for _, text := range []string{least["gantry-agent"], most["gantry-agent"]} {
		spec = agents(t, text).Spec.Template.Spec
		// What is set for the agent is in the environment of setup too.
		known(words("../..", agent, spec.InitContainers[0].Args[0]), spec.InitContainers[0], "GANTRY_LEASE_MBIT")
		known(run, spec.Containers[0])
	}
}
