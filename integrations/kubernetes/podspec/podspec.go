// Package podspec makes an order of the market from a pod, and says of a pod that cannot be one why.
package podspec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
)

// GPUs is the resource that pods ask for.
const GPUs corev1.ResourceName = "nvidia.com/gpu"

// What a pod says to the market: annotations, and LabelGPU as a label, an annotation or a node selector.
const (
	LabelGPU           = "gantry.market/gpu"
	LabelProduct       = "nvidia.com/gpu.product" // the same in NVIDIA's words, as a node selector
	AnnotationMaxPrice = "gantry.market/max-price"
	AnnotationBudget   = "gantry.market/budget"
	AnnotationRegion   = "gantry.market/region"
	AnnotationNetwork  = "gantry.market/network"
)

// maxGPUs is how many one machine of the market has at most.
const maxGPUs = 8

// ErrRefused: the pod asks for something that a lease does not have.
var ErrRefused = errors.New("the pod cannot run on a lease")

// Defaults are what a pod gets that says nothing else.
type Defaults struct {
	GPU            string // model; "any" for the best machine of any model
	MaxPrice       string // USDC per GPU-hour; empty for the market's reference price
	Budget         string // USDC of a pod, in total
	Seconds        int64  // that are paid ahead, again and again
	Network        string // what a container reaches; empty for the internet
	AllowSimulated bool
}

// Order is what a pod orders. Warnings name what the pod asks for and does not get, and can do without. Error: ErrRefused.
func Order(pod *corev1.Pod, d Defaults) (r market.OrderRequest, warnings []string, err error) {
	if err := check(pod); err != nil {
		return r, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	c := &pod.Spec.Containers[0]
	r = market.OrderRequest{
		GPU: model(pod, d.GPU), MaxPrice: said(pod, AnnotationMaxPrice, d.MaxPrice), Budget: said(pod, AnnotationBudget, d.Budget), Seconds: d.Seconds,
		Image: c.Image, Region: pod.Annotations[AnnotationRegion], Network: said(pod, AnnotationNetwork, d.Network),
		RunToCompletion: true, UntilStopped: true, AllowSimulated: d.AllowSimulated, User: userOf(pod, c),
	}
	if deadline := pod.Spec.ActiveDeadlineSeconds; deadline != nil && *deadline < r.Seconds {
		r.Seconds = *deadline
	}
	if r.Count, err = count(c); err != nil {
		return r, nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	r.Env = map[string]string{}
	for _, v := range c.Env {
		if !ofCluster(v.Name) {
			r.Env[v.Name] = v.Value
		}
	}
	command, args := expand(c.Command, r.Env), expand(c.Args, r.Env)
	if len(command) > 0 {
		r.Entrypoint, r.Command = command[0], append(command[1:], args...)
	} else {
		r.Command = args
	}
	for _, p := range c.Ports {
		r.Ports = append(r.Ports, market.Port{Name: p.Name, Port: p.ContainerPort})
	}
	asked := func(name corev1.ResourceName) *resource.Quantity {
		if q, ok := c.Resources.Requests[name]; ok {
			return &q
		}
		q := c.Resources.Limits[name]
		return &q
	}
	r.CPUs = asked(corev1.ResourceCPU).Value() // rounded up
	r.MemoryMiB = mib(asked(corev1.ResourceMemory))
	r.DiskMiB = mib(asked(corev1.ResourceEphemeralStorage))
	r.ShmMiB = shm(pod)
	return r, lacking(c), nil
}

// model is the GPU model that a pod names, in the order of what is most its own.
func model(pod *corev1.Pod, otherwise string) string {
	for _, from := range []string{
		pod.Annotations[LabelGPU], pod.Labels[LabelGPU], pod.Spec.NodeSelector[LabelGPU], pod.Spec.NodeSelector[LabelProduct],
	} {
		if from != "" {
			return from
		}
	}
	return otherwise
}

// ofCluster reports whether a variable leads to the API server, which a lease does not reach: a program with it would take the
// machine for one of the cluster. Kubernetes adds them to each container.
func ofCluster(name string) bool {
	return name == "KUBERNETES_PORT" || strings.HasPrefix(name, "KUBERNETES_PORT_") || strings.HasPrefix(name, "KUBERNETES_SERVICE_")
}

func said(pod *corev1.Pod, annotation, otherwise string) string {
	if v := strings.TrimSpace(pod.Annotations[annotation]); v != "" {
		return v
	}
	return otherwise
}

// count is how many GPUs a container asks for.
func count(c *corev1.Container) (int, error) {
	q, ok := c.Resources.Limits[GPUs]
	if !ok {
		q = c.Resources.Requests[GPUs]
	}
	n := q.Value()
	switch {
	case n < 1:
		return 0, fmt.Errorf("it asks for no GPU, and the market rents out GPUs: set resources.limits of %s", GPUs)
	case n > maxGPUs:
		return 0, fmt.Errorf("it asks for %d GPUs, and a machine of the market has %d at most", n, maxGPUs)
	}
	return int(n), nil
}

// userOf is the user of the container's program as the order says it; empty for the image's.
func userOf(pod *corev1.Pod, c *corev1.Container) string {
	var user, group *int64
	if s := pod.Spec.SecurityContext; s != nil {
		user, group = s.RunAsUser, s.RunAsGroup
	}
	if s := c.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			user = s.RunAsUser
		}
		if s.RunAsGroup != nil {
			group = s.RunAsGroup
		}
	}
	switch {
	case user == nil:
		return ""
	case group == nil:
		return strconv.FormatInt(*user, 10)
	}
	return fmt.Sprintf("%d:%d", *user, *group)
}

// mib is a quantity of bytes in MiB, rounded up; 0 for none.
func mib(q *resource.Quantity) int64 { return (q.Value() + 1<<20 - 1) >> 20 }

// expand replaces $(NAME) by the value of a variable, as the kubelet does: $$ is a dollar, and an unknown name stays.
func expand(words []string, env map[string]string) []string {
	out := make([]string, len(words))
	for i, word := range words {
		out[i] = expandOne(word, env)
	}
	return out
}

func expandOne(word string, env map[string]string) string {
	var b strings.Builder
	for word != "" {
		before, after, found := strings.Cut(word, "$")
		b.WriteString(before)
		if !found {
			break
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		value, known := env[name]
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			word = after[1:]
		case strings.HasPrefix(after, "(") && closed && known:
			b.WriteString(value)
			word = rest
		default:
			b.WriteByte('$')
			word = after
		}
	}
	return b.String()
}
