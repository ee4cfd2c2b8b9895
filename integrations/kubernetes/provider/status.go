package provider

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Reasons that a pod's status and its events give.
const (
	reasonBuying      = "Buying"            // an order waits for a machine
	reasonNotServed   = "OrderNotServed"    // no machine had the order; another try follows
	reasonUnreachable = "MarketUnreachable" // gantry serve or the cluster does not answer
	reasonRefused     = "Refused"           // the pod asks for what no lease has
	reasonImage       = "ErrImagePull"
	reasonImageAgain  = "ImagePullBackOff"
	reasonCreating    = "ContainerCreating" // a machine fetches the image
	reasonCrash       = "CrashLoopBackOff"
	reasonLeased      = "Leased"
	reasonStarted     = "Started"
	reasonBackOff     = "BackOff"
	reasonDeleted     = "Deleted"
	reasonDeadline    = "DeadlineExceeded"
	reasonCompleted   = "Completed"
	reasonError       = "Error"
	reasonMemory      = "OOMKilled"
	reasonStart       = "StartError"
	reasonMachine     = "MachineFailed"
	reasonGivenUp     = "MachineLeft"
	reasonStopped     = "LeaseStopped"
	reasonFunds       = "BudgetUsedUp"
	reasonUnknown     = "ContainerStatusUnknown"
)

// conditionLease names the lease of a pod.
const conditionLease corev1.PodConditionType = "gantry.market/Lease"

// setState changes a pod's status to a phase, with the state of its container.
func setState(r *record, phase corev1.PodPhase, reason, message string, s corev1.ContainerState, now time.Time) {
	st := &r.Pod.Status
	if st.StartTime == nil {
		t := metav1.NewTime(now)
		st.StartTime = &t
	}
	st.Phase, st.Reason, st.Message = phase, reason, message
	running := s.Running != nil
	var last corev1.ContainerState
	if len(st.ContainerStatuses) == 1 {
		last = st.ContainerStatuses[0].LastTerminationState
	}
	c := &r.Pod.Spec.Containers[0]
	status := corev1.ContainerStatus{
		Name: c.Name, Image: c.Image, State: s, LastTerminationState: last, Ready: running, Started: &running, RestartCount: int32(r.Attempt),
	}
	if r.Lease != "" {
		status.ContainerID = "gantry://" + r.Lease
	}
	st.ContainerStatuses = []corev1.ContainerStatus{status}
	setCondition(st, corev1.PodScheduled, true, "", "", now)
	setCondition(st, corev1.PodInitialized, true, "", "", now)
	why, says := "", ""
	if !running {
		why, says = "ContainersNotReady", "the container does not run"
		if phase == corev1.PodSucceeded {
			why, says = "PodCompleted", ""
		}
	}
	setCondition(st, corev1.ContainersReady, running, why, says, now)
	setCondition(st, corev1.PodReady, running, why, says, now)
	if r.Lease != "" {
		setCondition(st, conditionLease, true, reasonLeased, r.Lease, now)
	}
}

func setCondition(st *corev1.PodStatus, kind corev1.PodConditionType, is bool, reason, message string, now time.Time) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	next := corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now)}
	for i, c := range st.Conditions {
		if c.Type != kind {
			continue
		}
		if c.Status == status {
			next.LastTransitionTime = c.LastTransitionTime
		}
		st.Conditions[i] = next
		return
	}
	st.Conditions = append(st.Conditions, next)
}

// setWaiting is the status of a pod that does not run yet.
func setWaiting(r *record, reason, message string, now time.Time) {
	setState(r, corev1.PodPending, "", "", corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}, now)
	if r.Attempt > 0 { // a pod that has run stays Running while its container starts again
		r.Pod.Status.Phase = corev1.PodRunning
	}
}

// setRunning is the status of a pod whose job runs.
func setRunning(r *record, since, now time.Time) {
	setState(r, corev1.PodRunning, "", "", corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}, now)
}

// ending is how a container has ended.
type ending struct {
	code              int32
	reason, message   string
	started, finished time.Time
	// failed: not by the job's own doing, so that its exit code says nothing.
	failed bool
}

func (e *ending) good() bool { return !e.failed && e.code == 0 }

func (e *ending) state(lease string) corev1.ContainerState {
	t := &corev1.ContainerStateTerminated{ExitCode: e.code, Reason: e.reason, Message: e.message, FinishedAt: metav1.NewTime(e.finished)}
	if !e.started.IsZero() {
		t.StartedAt = metav1.NewTime(e.started)
	}
	if lease != "" {
		t.ContainerID = "gantry://" + lease
	}
	return corev1.ContainerState{Terminated: t}
}

// setOver is the status of a pod that is over.
func setOver(r *record, e ending, now time.Time) {
	phase, reason, message := corev1.PodFailed, e.reason, e.message
	switch {
	case e.good():
		phase, reason, message = corev1.PodSucceeded, "", ""
	case !e.failed: // the exit code says it
		reason = ""
	}
	setState(r, phase, reason, message, e.state(r.Lease), now)
	r.Done = true
}

// startedAt is when the container that runs was started; zero for none.
func startedAt(st *corev1.PodStatus) time.Time {
	if len(st.ContainerStatuses) == 1 && st.ContainerStatuses[0].State.Running != nil {
		return st.ContainerStatuses[0].State.Running.StartedAt.Time
	}
	return time.Time{}
}
