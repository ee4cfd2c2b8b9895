package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
)

// least are the values without which a chart is refused.
var least = map[string]string{
	"gantry-kubelet": `
images: {gantry: "r.example/gantry:1", kubelet: "r.example/kubelet:1"}
rpcURL: https://rpc.example
`,
	"gantry-agent": `
image: r.example/gantry-agent:1
rpcURL: https://rpc.example
region: us-west-2
`,
}

// most are values that a chart has a template for, all of them.
var most = map[string]string{
	"gantry-kubelet": least["gantry-kubelet"] + `
imagePullPolicy: Always
imagePullSecrets: [registry]
wsURL: wss://rpc.example
sessionSecret: key
node: {name: a100, gpu: A100, maxPrice: "2.50", budget: "7", network: none, ahead: 1h30m, pods: 12, port: 10251}
clientCA: aggregator
state: {size: 2Gi, storageClass: fast}
serve: {args: ["--metrics=127.0.0.1:9466"], resources: {limits: {memory: 1Gi}}}
kubelet: {args: ["--allow-simulated"], resources: {requests: {cpu: "1"}}}
nodeSelector: {disk: fast}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: b, operator: Exists}]}]}}}
`,
	"gantry-agent": least["gantry-agent"] + `
imagePullPolicy: Always
imagePullSecrets: [registry]
wsURL: wss://rpc.example
site: rack1
price: auto:1.20
hours: weekdays 19:00-08:00; weekends
accept: [clock-sync]
walletSecret: owner
port: 4103
dataFolder: /srv/gantry
hostFiles: [/usr/bin/nvidia-ctk, /usr/lib/x86_64-linux-gnu/libcublasLt.so.12]
settings: {GANTRY_LEASE_MBIT: "1000"}
settingsSecret: more
runtimeClass: ""
gpus: 8
nodeSelector: {rack: one}
tolerations: []
priorityClass: ""
resources: {requests: {memory: 1Gi}}
`,
}

func values(t *testing.T, text string) common.Values {
	t.Helper()
	v, err := common.ReadValues([]byte(text))
	require.NoError(t, err)
	return v
}

// strict reads objects as Kubernetes has them: a field that it does not know is an error, and so is one that is there twice.
var strict = serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()

// decode reads all documents of manifests.
func decode(manifests string) (objects []runtime.Object, err error) {
	for _, text := range strings.Split("\n"+manifests, "\n---") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		object, _, err := strict.Decode([]byte(text), nil, nil)
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// objects are those of a chart with these values.
func objects(t *testing.T, chart, text string) (all []runtime.Object) {
	t.Helper()
	files, err := render(t.Context(), chart, chart, "gantry", values(t, text))
	require.NoError(t, err)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.Ext(name) != ".yaml" {
			continue
		}
		found, err := decode(files[name])
		require.NoError(t, err, "%s:\n%s", name, files[name])
		all = append(all, found...)
	}
	return all
}

// object is the one of a type.
func object[T runtime.Object](t *testing.T, all []runtime.Object) (one T) {
	t.Helper()
	found := 0
	for _, o := range all {
		if is, ok := o.(T); ok {
			one, found = is, found+1
		}
	}
	require.Equal(t, 1, found, "objects of the type %T", one)
	return one
}

func kinds(all []runtime.Object) (names []string) {
	for _, o := range all {
		names = append(names, o.GetObjectKind().GroupVersionKind().Kind)
	}
	slices.Sort(names)
	return names
}

func TestHelmFindsNoFault(t *testing.T) {
	for chart := range least {
		for name, text := range map[string]string{"least": least[chart], "most": most[chart]} {
			result := lint.RunAll(chart, values(t, text), "gantry")
			for _, m := range result.Messages {
				require.Less(t, m.Severity, support.WarningSev, "%s with %s values: %v", chart, name, m)
			}
		}
		// The values of the chart alone are not enough, which lint sees too.
		require.Equal(t, support.ErrorSev, lint.RunAll(chart, nil, "gantry").HighestSeverity)
	}
}

func TestObjectsAreThoseOfKubernetes(t *testing.T) {
	want := map[string][]string{
		"gantry-kubelet": {"ClusterRole", "ClusterRoleBinding", "Deployment", "PersistentVolumeClaim", "ServiceAccount"},
		"gantry-agent":   {"DaemonSet", "ServiceAccount"},
	}
	for chart := range least {
		require.Equal(t, want[chart], kinds(objects(t, chart, least[chart])))
		require.Equal(t, want[chart], kinds(objects(t, chart, most[chart])))
	}
	// A claim that is there is not made.
	require.NotContains(t, kinds(objects(t, "gantry-kubelet", least["gantry-kubelet"]+"state: {claim: mine}")), "PersistentVolumeClaim")
}

// The decoding refuses what an API server refuses, so that the other tests mean something.
func TestFieldsAreChecked(t *testing.T) {
	files, err := render(t.Context(), "gantry-agent", "gantry-agent", "gantry", values(t, least["gantry-agent"]))
	require.NoError(t, err)
	text := files["gantry-agent/templates/agent.yaml"]
	for right, wrong := range map[string]string{"hostPID: true": "hostPid: true", "privileged: true": "privileged: 1", "type: OnDelete": "typ: OnDelete", "kind: DaemonSet": "kind: DemonSet"} {
		require.Contains(t, text, right)
		_, err := decode(strings.ReplaceAll(text, right, wrong))
		require.Error(t, err, wrong)
	}
}

// Wrong values are refused before anything is sent, and the message names the value.
func TestWrongValuesAreRefused(t *testing.T) {
	for chart, rows := range map[string][][2]string{
		"gantry-kubelet": {
			{"images: {kubelet: null}", "at '/images': missing property 'kubelet'"},
			{"images: {gantry: ''}", "at '/images/gantry': minLength"},
			{"rpcURL: null", "missing property 'rpcURL'"},
			{"rpcURL: rpc.example", "at '/rpcURL': 'rpc.example' does not match pattern"},
			{"node: {budget: 10}", "at '/node/budget': got number, want string"},
			{"node: {budget: ten}", "at '/node/budget': 'ten' does not match pattern"},
			{"node: {network: lan}", "at '/node/network': value must be one of 'internet', 'none'"},
			{"node: {ahead: ten minutes}", "at '/node/ahead'"},
			{"node: {pods: 0}", "at '/node/pods': minimum: got 0, want 1"},
			{"node: {port: 99999}", "at '/node/port': maximum"},
			{"node: {model: A100}", "at '/node': additional properties 'model' not allowed"},
			{"replicas: 2", "additional properties 'replicas' not allowed"},
			{"state: {size: big}", "at '/state/size'"},
			{"serve: {args: [metrics]}", "at '/serve/args/0'"},
			{"sessionSecret: My_Secret", "at '/sessionSecret'"},
		},
		"gantry-agent": {
			{"image: null", "missing property 'image'"},
			{"region: null", "missing property 'region'"},
			{"region: somewhere-far-away", "at '/region': maxLength: got 18, want 16"},
			{"price: 1.26", "at '/price': got number, want string"},
			{"price: cheap", "at '/price': 'cheap' does not match pattern"},
			{"gpus: -1", "at '/gpus': minimum"},
			{"gpus: all", "at '/gpus': got string, want integer"},
			{"port: 0", "at '/port': minimum"},
			{"dataFolder: data", "at '/dataFolder'"},
			{"hostFiles: [nvidia-ctk]", "at '/hostFiles/0'"},
			{"settings: {lease_mbit: '1'}", "at '/settings': additional properties 'lease_mbit' not allowed"},
			{"settings: {GANTRY_LEASE_MBIT: 1}", "at '/settings/GANTRY_LEASE_MBIT': got number, want string"},
			{"privileged: false", "additional properties 'privileged' not allowed"},
		},
	} {
		for _, row := range rows {
			_, err := render(t.Context(), chart, chart, "gantry", merged(values(t, least[chart]), values(t, row[0])))
			require.ErrorContains(t, err, row[1], "%s: %s", chart, row[0])
		}
	}
}

// merged are values with others over them, as `helm --set` does it. Null takes a value away.
func merged(below, above map[string]any) map[string]any {
	for name, v := range above {
		if v == nil {
			delete(below, name)
			continue
		}
		inner, isMap := v.(map[string]any)
		if under, ok := below[name].(map[string]any); ok && isMap {
			v = merged(under, inner)
		}
		below[name] = v
	}
	return below
}

func TestRunPrintsManifests(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(file, []byte(least["gantry-kubelet"]), 0o600))
	var out strings.Builder
	require.NoError(t, run(t.Context(), []string{"gantry-kubelet", "x", "y", file}, &out))
	found, err := decode(out.String())
	require.NoError(t, err)
	require.Len(t, found, 5)
	require.Equal(t, "y", object[*corev1.ServiceAccount](t, found).Namespace)
	require.Equal(t, "x", object[*appsv1.Deployment](t, found).Name)
	// Names that YAML takes for numbers or truth values stay names.
	out.Reset()
	require.NoError(t, run(t.Context(), []string{"gantry-kubelet", "1", "y", file}, &out))
	found, err = decode(out.String())
	require.NoError(t, err)
	require.Equal(t, "1", object[*appsv1.Deployment](t, found).Spec.Template.Spec.ServiceAccountName)
	require.ErrorIs(t, run(t.Context(), []string{"gantry-kubelet"}, &out), errUsage)
	require.ErrorIs(t, run(t.Context(), []string{"gantry-kubelet", "x", "y", file + ".none"}, &out), os.ErrNotExist)
	require.ErrorContains(t, run(t.Context(), []string{"gantry-kubelet", "x", "y"}, &out), "missing properties 'images', 'rpcURL'")
}
