package match

import "container/heap"

// dueHeap has the rows whose reputation, tier or guarantee changes some time, the soonest first.
type dueHeap []*row

func (h dueHeap) Len() int           { return len(h) }
func (h dueHeap) Less(i, j int) bool { return h[i].until < h[j].until }
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].dueAt, h[j].dueAt = i, j
}

// Push implements [heap.Interface].
func (h *dueHeap) Push(x any) {
	if r, ok := x.(*row); ok {
		r.dueAt = len(*h)
		*h = append(*h, r)
	}
}

// Pop implements [heap.Interface].
func (h *dueHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	r.dueAt = -1
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}

func (h *dueHeap) push(r *row)   { heap.Push(h, r) }
func (h *dueHeap) remove(r *row) { heap.Remove(h, r.dueAt) }

func (h *dueHeap) pop() *row {
	r := (*h)[0]
	heap.Pop(h)
	return r
}
