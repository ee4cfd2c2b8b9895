package check

import (
	"bytes"
	"cmp"
)

// due is a check in the queue.
type due struct {
	Check
	seq uint64
}

// queue is a heap of checks, the earliest first.
type queue []due

func (q queue) Len() int { return len(q) }

func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if !a.Due.Equal(b.Due) {
		return a.Due.Before(b.Due)
	}
	return cmp.Or(bytes.Compare(a.Node[:], b.Node[:]), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.seq, b.seq)) < 0
}

func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(due)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}
