package provider

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

// TaintKey and TaintValue keep pods away that do not ask for the market.
const (
	TaintKey   = "virtual-kubelet.io/provider"
	TaintValue = "gantry"
)

// maxOffers is how many machines are counted.
const maxOffers = 1000

// NodeOptions say what the virtual node is.
type NodeOptions struct {
	Name, Version string
	// Address and Port are where the API server reaches the provider for logs and shells.
	Address string
	Port    int32
	// Pods is how many it takes.
	Pods     int64
	Defaults podspec.Defaults
	Market   *market.Client
	// Held are the GPUs that pods of this node have.
	Held func() int64
	// Every is how often the market is looked at.
	Every time.Duration
	Log   zerolog.Logger
}

// Node is the virtual node: it has the GPUs that the market has free, and those of its pods.
type Node struct {
	o    NodeOptions
	node *corev1.Node
	wg   sync.WaitGroup
}

// NewNode is a node without GPUs, until the market is seen.
func NewNode(o NodeOptions) *Node {
	labels := map[string]string{
		"type": "virtual-kubelet", "kubernetes.io/role": "agent", "kubernetes.io/hostname": o.Name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
		"node.kubernetes.io/exclude-from-external-load-balancers": "true",
	}
	if gpu := o.Defaults.GPU; gpu != anyGPU {
		labels[podspec.LabelGPU], labels[podspec.LabelProduct] = gpu, gpu
	}
	n := &Node{o: o, node: &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: o.Name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: TaintKey, Value: TaintValue, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: o.Version, OperatingSystem: "linux", Architecture: "amd64", ContainerRuntimeVersion: "gantry://" + o.Version, OSImage: "leases of the Gantry market",
			},
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: o.Address}, {Type: corev1.NodeHostName, Address: o.Name},
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: o.Port}},
		},
	}}
	n.set(nil, fmt.Errorf("the market was not seen yet"))
	return n
}

// anyGPU is the best machine of any model.
const anyGPU = "any"

// Object is the node as it is registered.
func (n *Node) Object() *corev1.Node { return n.node.DeepCopy() }

// Ping implements node.NodeProvider: the node lives while gantry serve answers.
func (n *Node) Ping(ctx context.Context) error { return n.o.Market.Health(ctx) }

// Wait waits until nobody looks at the market any more.
func (n *Node) Wait() { n.wg.Wait() }

// NotifyNodeStatus implements node.NodeProvider. It looks at the market until ctx ends.
func (n *Node) NotifyNodeStatus(ctx context.Context, notify func(*corev1.Node)) {
	n.wg.Go(func() {
		t := time.NewTicker(n.o.Every)
		defer t.Stop()
		for {
			offers, err := n.o.Market.Offers(ctx, n.terms(), maxOffers)
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				n.o.Log.Warn().Err(err).Msg("the market is not seen")
			}
			n.set(offers, err)
			notify(n.Object())
			select {
			case <-ctx.Done():
				return
			case <-t.C:
			}
		}
	})
}

// terms search for what pods of this node can have. Pods that name other models or prices have others.
func (n *Node) terms() string {
	var terms []string
	if n.o.Defaults.GPU != anyGPU {
		terms = append(terms, "gpu="+n.o.Defaults.GPU)
	}
	if n.o.Defaults.MaxPrice != "" {
		terms = append(terms, "price<="+n.o.Defaults.MaxPrice)
	}
	if !n.o.Defaults.AllowSimulated {
		terms = append(terms, "real")
	}
	return strings.Join(terms, " ")
}

// set is what the node has by these offers. What is not known is as it was, and the node says that it is not ready.
func (n *Node) set(offers []market.Offer, err error) {
	if err == nil || n.node.Status.Capacity == nil {
		var gpus, cpus, memory, disk int64
		for _, o := range offers {
			gpus += o.FreeGPUs
			cpus += o.CPUCores
			memory += o.RAMMiB
			disk += o.DiskGiB
		}
		gpus += n.o.Held()
		has := corev1.ResourceList{
			podspec.GPUs: *resource.NewQuantity(gpus, resource.DecimalSI), corev1.ResourcePods: *resource.NewQuantity(n.o.Pods, resource.DecimalSI),
			corev1.ResourceCPU: *resource.NewQuantity(cpus, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(memory<<20, resource.BinarySI),
			corev1.ResourceEphemeralStorage: *resource.NewQuantity(disk<<30, resource.BinarySI),
		}
		n.node.Status.Capacity, n.node.Status.Allocatable = has, has.DeepCopy()
	}
	ready, reason, message := corev1.ConditionTrue, "MarketSeen", "gantry serve answers"
	if err != nil {
		ready, reason, message = corev1.ConditionFalse, "MarketUnseen", err.Error()
	}
	now := metav1.Now()
	conditions := []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Reason: reason, Message: message}}
	for _, t := range []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure, corev1.NodeNetworkUnavailable} {
		conditions = append(conditions, corev1.NodeCondition{Type: t, Status: corev1.ConditionFalse, Reason: "Market"})
	}
	before := map[corev1.NodeConditionType]corev1.NodeCondition{}
	for _, c := range n.node.Status.Conditions {
		before[c.Type] = c
	}
	for i := range conditions {
		c := &conditions[i]
		c.LastHeartbeatTime, c.LastTransitionTime = now, now
		if old, ok := before[c.Type]; ok && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		}
	}
	n.node.Status.Conditions = conditions
}

// Held are the GPUs of leases that pods have.
func (p *Provider) Held() (gpus int64) {
	for _, r := range p.records() {
		if r.Lease != "" && !r.Done && r.Request != nil {
			gpus += int64(r.Request.Count)
		}
	}
	return gpus
}
