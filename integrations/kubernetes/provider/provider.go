// Package provider turns pods into leases: virtual-kubelet asks it to run them. Each pod has a goroutine, which orders
// its lease, follows it and ends it. Each pod also has a record in a file, with which a provider continues after it was
// killed.
//
//   - record.go stores what is known of a pod; money.go reads and writes amounts.
//   - buy.go orders a lease, pullsecrets.go adds the account of its registry, follow.go follows a lease that was bought, end.go ends pods that were deleted.
//   - status.go reports the status of a pod; output.go, exec.go and forward.go reach its container.
//   - node.go reports the capacity of the node.
package provider

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/virtual-kubelet/virtual-kubelet/errdefs"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1listers "k8s.io/client-go/listers/core/v1"
	events "k8s.io/client-go/tools/record"

	"github.com/gantry-market/gantry/integrations/kubernetes/market"
	"github.com/gantry-market/gantry/integrations/kubernetes/podspec"
)

// Options of a provider.
type Options struct {
	Market *market.Client
	// Dir is the folder of records.
	Dir      string
	Defaults podspec.Defaults
	// Poll is how often a lease is looked at; a try that failed is repeated after RetryLeast, and later after up to RetryMost.
	Poll, RetryLeast, RetryMost time.Duration
	Recorder                    events.EventRecorder
	Log                         zerolog.Logger
}

// Provider runs pods as leases. Its methods are safe for concurrent use.
type Provider struct {
	o     Options
	store store

	mu      sync.Mutex
	ctx     context.Context // of the goroutines of pods; nil before Start and after its end
	wg      sync.WaitGroup
	pods    corev1listers.PodLister    // nil before Start
	secrets corev1listers.SecretLister // nil before Start
	works   map[types.UID]*work
	current map[string]types.UID // by namespace/name
	notify  func(*corev1.Pod)    // nil before NotifyPods
}

// work is a pod and its goroutine.
type work struct {
	wake chan struct{} // has room for one
	// tries counts those that failed in a row, and said is the last event; both belong to the goroutine.
	tries int
	said  string

	mu   sync.Mutex
	rec  record
	gone bool // its file is removed
}

// put keeps the record. The caller holds the lock.
func (w *work) put(s store) error {
	if w.gone {
		return nil
	}
	return s.put(&w.rec)
}

func (w *work) get() record {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rec.clone()
}

func (w *work) poke() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// New reads the records of the folder.
func New(o Options) (*Provider, error) {
	s, err := openStore(o.Dir)
	if err != nil {
		return nil, err
	}
	all, err := s.all()
	if err != nil {
		return nil, err
	}
	p := &Provider{o: o, store: s, works: map[types.UID]*work{}, current: map[string]types.UID{}}
	for _, r := range all {
		p.works[r.Pod.UID] = &work{wake: make(chan struct{}, 1), rec: r}
		if !r.Deleted {
			p.current[nameOf(r.Pod)] = r.Pod.UID
		}
	}
	return p, nil
}

// Start continues with the pods of the records, and lets others be created, until ctx ends or end is called, which waits.
// pods are those of the node, and secrets those of all namespaces, as the API server has them.
func (p *Provider) Start(ctx context.Context, pods corev1listers.PodLister, secrets corev1listers.SecretLister) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ctx, p.pods, p.secrets = ctx, pods, secrets
	for _, w := range p.works {
		p.begin(w)
	}
	return func() {
		cancel()
		p.mu.Lock()
		p.ctx = nil
		p.mu.Unlock()
		p.wg.Wait()
	}
}

// begin starts a pod's goroutine. The caller holds the lock.
func (p *Provider) begin(w *work) {
	ctx := p.ctx
	p.wg.Go(func() { p.tend(ctx, w) })
}

// NotifyPods implements node.PodNotifier.
func (p *Provider) NotifyPods(_ context.Context, notify func(*corev1.Pod)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.notify = notify
	for _, w := range p.works {
		w.poke()
	}
}

func nameOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// CreatePod implements node.PodLifecycleHandler. A pod that no lease can be is taken too, and says so in its status.
func (p *Provider) CreatePod(_ context.Context, pod *corev1.Pod) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx == nil {
		return errors.New("the provider ends: the pod is taken when it runs again")
	}
	if _, known := p.works[pod.UID]; known {
		return nil
	}
	w := &work{wake: make(chan struct{}, 1), rec: record{Pod: pod.DeepCopy()}}
	if err := p.store.put(&w.rec); err != nil {
		return err
	}
	if old, ok := p.works[p.current[nameOf(pod)]]; ok { // another pod of this name is gone
		if err := p.end(old); err != nil {
			return err
		}
	}
	p.works[pod.UID], p.current[nameOf(pod)] = w, pod.UID
	p.begin(w)
	return nil
}

// UpdatePod implements node.PodLifecycleHandler. A lease keeps its container; the deadline, labels and annotations are taken, and
// the rest counts for the pod's next lease.
func (p *Provider) UpdatePod(ctx context.Context, pod *corev1.Pod) error {
	w := p.byUID(pod.UID)
	if w == nil {
		return p.CreatePod(ctx, pod)
	}
	w.mu.Lock()
	status := w.rec.Pod.Status
	image := len(w.rec.Pod.Spec.Containers) == 1 && len(pod.Spec.Containers) == 1 && w.rec.Pod.Spec.Containers[0].Image != pod.Spec.Containers[0].Image
	w.rec.Pod = pod.DeepCopy()
	w.rec.Pod.Status = status
	leased := w.rec.Lease != ""
	err := w.put(p.store)
	w.mu.Unlock()
	if image && leased {
		p.o.Recorder.Event(pod, corev1.EventTypeWarning, "ImageKept", "a lease keeps its container: delete the pod to run another image")
	}
	w.poke()
	return err
}

// DeletePod implements node.PodLifecycleHandler. It begins the end of the pod's lease; the status follows by NotifyPods.
func (p *Provider) DeletePod(_ context.Context, pod *corev1.Pod) error {
	w := p.byUID(pod.UID)
	if w == nil {
		return errdefs.NotFoundf("pod %s has no lease here", nameOf(pod))
	}
	return p.end(w)
}

// end begins the end of a pod, once.
func (p *Provider) end(w *work) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rec.Deleted {
		return nil
	}
	w.rec.Deleted = true
	if err := w.put(p.store); err != nil {
		w.rec.Deleted = false
		return err
	}
	w.poke()
	return nil
}

func (p *Provider) byUID(uid types.UID) *work {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.works[uid]
}

// find is the pod of a name. Error: errdefs.NotFound, also where the pod is being ended. A pod whose name another pod has now is ended.
func (p *Provider) find(namespace, name string) (*work, error) {
	p.mu.Lock()
	uid, pods := p.current[namespace+"/"+name], p.pods
	w := p.works[uid]
	p.mu.Unlock()
	gone := errdefs.NotFoundf("there is no pod %s/%s on this node", namespace, name)
	if w == nil {
		return nil, gone
	}
	if pods != nil {
		if now, err := pods.Pods(namespace).Get(name); err == nil && now.UID != uid {
			if err := p.end(w); err != nil {
				return nil, err
			}
			return nil, gone
		}
	}
	return w, nil
}

// GetPod implements node.PodLifecycleHandler.
func (p *Provider) GetPod(_ context.Context, namespace, name string) (*corev1.Pod, error) {
	w, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	r := w.get()
	if r.Deleted {
		return nil, errdefs.NotFoundf("pod %s/%s is being ended", namespace, name)
	}
	return r.Pod, nil
}

// GetPodStatus implements node.PodLifecycleHandler.
func (p *Provider) GetPodStatus(_ context.Context, namespace, name string) (*corev1.PodStatus, error) {
	w, err := p.find(namespace, name)
	if err != nil {
		return nil, err
	}
	r := w.get()
	return &r.Pod.Status, nil
}

// GetPods implements node.PodLifecycleHandler: pods that are being ended are not among them.
func (p *Provider) GetPods(context.Context) ([]*corev1.Pod, error) {
	var out []*corev1.Pod
	for _, r := range p.records() {
		if !r.Deleted {
			out = append(out, r.Pod)
		}
	}
	return out, nil
}

func (p *Provider) records() []record {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]record, 0, len(p.works))
	for _, w := range p.works {
		out = append(out, w.get())
	}
	return out
}

// change changes a pod's record, keeps it, and tells virtual-kubelet. The record in memory is ahead of a file that cannot be written;
// the error is logged, and the next change writes it.
func (p *Provider) change(w *work, f func(*record)) error {
	w.mu.Lock()
	f(&w.rec)
	err := w.put(p.store)
	w.mu.Unlock()
	if err != nil {
		p.o.Log.Error().Err(err).Msg("the record of a pod is not kept")
	}
	p.tell(w)
	return err
}

// tell passes a pod's status on, unless another pod has its name now.
func (p *Provider) tell(w *work) {
	r := w.get()
	p.mu.Lock()
	notify := p.notify
	ours := p.current[nameOf(r.Pod)] == r.Pod.UID
	p.mu.Unlock()
	if notify != nil && ours && r.Pod.Status.Phase != "" {
		notify(r.Pod)
	}
}

// event is told once in a row.
func (p *Provider) event(w *work, kind, reason, message string) {
	if said := reason + "\x00" + message; w.said != said {
		w.said = said
		r := w.get()
		p.o.Recorder.Event(r.Pod, kind, reason, message)
		p.o.Log.Info().Str("pod", nameOf(r.Pod)).Str("reason", reason).Msg(message)
	}
}

// tend works on a pod until it is forgotten or ctx ends.
func (p *Provider) tend(ctx context.Context, w *work) {
	for ctx.Err() == nil {
		p.tell(w)
		pause, over := p.step(ctx, w)
		if over {
			return
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
		case <-w.wake:
		case <-t.C:
		}
		t.Stop()
	}
}

// idle is how long a pod that is over sleeps when nobody wakes it.
const idle = time.Hour

// step does what is next for a pod, and says when to look again; over: it is forgotten.
func (p *Provider) step(ctx context.Context, w *work) (pause time.Duration, over bool) {
	r := w.get()
	switch {
	case r.Deleted:
		return p.finish(ctx, w, r)
	case r.Done:
		return idle, false
	case r.Lease == "":
		return p.buy(ctx, w, r), false
	}
	return p.follow(ctx, w, r), false
}

// forget removes all that is known of a pod.
func (p *Provider) forget(w *work) error {
	r := w.get()
	w.mu.Lock()
	err := p.store.remove(r.Pod.UID)
	w.gone = err == nil
	w.mu.Unlock()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.works, r.Pod.UID)
	if p.current[nameOf(r.Pod)] == r.Pod.UID {
		delete(p.current, nameOf(r.Pod))
	}
	return nil
}

// retry is the pause after a try that failed: twice the one before.
func (p *Provider) retry(w *work) time.Duration {
	pause := p.o.RetryLeast << min(w.tries, 20)
	w.tries++
	if pause <= 0 || pause > p.o.RetryMost {
		pause = p.o.RetryMost
	}
	return pause
}
